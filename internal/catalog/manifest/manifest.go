package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// APIVersion is the only version of the format that [Parse] reads.
const APIVersion = "biztraak.dev/v1"

// GuestUser is the account that every guest has for the platform, with
// password-less sudo and a group of the same name. Manifests may name it.
const GuestUser = "biztraak"

// Kind says what a document describes.
type Kind string

// The kinds of store items that a manifest can describe.
const (
	KindTemplate Kind = "VmTemplate"
	KindAddOn    Kind = "AddOnPack"
)

// Manifest is one version of a store item. Exactly one of Template and AddOn
// is set, as Kind says; in JSON and YAML it is the field spec.
type Manifest struct {
	APIVersion string
	Kind       Kind
	Metadata   Metadata
	Template   *TemplateSpec
	AddOn      *AddOnSpec
}

// Metadata names an item and describes it to people.
type Metadata struct {
	// Slug is the name by which other items refer to this one.
	Slug string `json:"slug"`
	// Version is a semantic version without a leading "v".
	Version     string `json:"version"`
	Name        string `json:"name"`
	Description string `json:"description"`
	// Icon is the identifier of an icon that the frontend draws.
	Icon  string `json:"icon"`
	Links []Link `json:"links,omitempty"`
}

// Link is an https address worth reading, with what is found there.
type Link struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// Contribution returns what the item adds to a machine, whatever its kind.
// The zero Manifest contributes nothing.
func (m Manifest) Contribution() Contribution {
	switch {
	case m.Template != nil:
		return m.Template.Contribution
	case m.AddOn != nil:
		return m.AddOn.Contribution
	default:
		return Contribution{}
	}
}

// String is "slug@version", for messages.
func (m Manifest) String() string {
	return m.Metadata.Slug + "@" + m.Metadata.Version
}

// envelope is the shape of a document while the kind decides about spec.
type envelope struct {
	APIVersion string          `json:"apiVersion"`
	Kind       Kind            `json:"kind"`
	Metadata   Metadata        `json:"metadata"`
	Spec       json.RawMessage `json:"spec"`
}

// MarshalJSON writes the document shape that the JSON Schema describes.
func (m Manifest) MarshalJSON() ([]byte, error) {
	var spec any
	switch {
	case m.Kind == KindTemplate && m.Template != nil && m.AddOn == nil:
		spec = m.Template
	case m.Kind == KindAddOn && m.AddOn != nil && m.Template == nil:
		spec = m.AddOn
	default:
		return nil, fmt.Errorf("manifest of kind %q does not have the spec of that kind alone", m.Kind)
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	return json.Marshal(envelope{APIVersion: m.APIVersion, Kind: m.Kind, Metadata: m.Metadata, Spec: raw})
}

// UnmarshalJSON reads what [Manifest.MarshalJSON] wrote. It refuses unknown
// fields but does not run the schema: it is for manifests that [Parse] has
// accepted before, such as a stored one.
func (m *Manifest) UnmarshalJSON(data []byte) error {
	var doc envelope
	if err := decodeStrict(data, &doc); err != nil {
		return err
	}
	read := Manifest{APIVersion: doc.APIVersion, Kind: doc.Kind, Metadata: doc.Metadata}
	var spec any
	switch doc.Kind {
	case KindTemplate:
		read.Template = &TemplateSpec{}
		spec = read.Template
	case KindAddOn:
		read.AddOn = &AddOnSpec{}
		spec = read.AddOn
	default:
		return fmt.Errorf("unknown manifest kind %q", doc.Kind)
	}
	if err := decodeStrict(doc.Spec, spec); err != nil {
		return err
	}
	*m = read
	return nil
}

func decodeStrict(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}
