package composition

import (
	"fmt"
	"strings"

	"biztraak.dev/vm/internal/catalog/manifest"
)

func (s *selection) templateProblems(provider manifest.ProviderKind) []Problem {
	problem := Problem{Code: CodeTemplateNotFitting, Path: []string{"template"}, Item: refOf(s.template)}
	switch {
	case s.template.Template == nil:
		problem.Message = fmt.Sprintf("%s is no VM template; choose one", s.template.Metadata.Slug)
	case provider != "" && s.template.Template.BaseImages[provider] == "":
		problem.Message = fmt.Sprintf("%s has no image for %s, only for %s; choose another template or another cloud account",
			s.template.Metadata.Slug, provider, s.supportedProviders())
	default:
		return nil
	}
	return []Problem{problem}
}

func (s *selection) supportedProviders() string {
	var supported []string
	for _, kind := range manifest.ProviderKinds() {
		if s.template.Template.BaseImages[kind] != "" {
			supported = append(supported, string(kind))
		}
	}
	return strings.Join(supported, ", ")
}

func (s *selection) fitProblems() []Problem {
	var problems []Problem
	for _, item := range s.strangers {
		ref := refOf(item)
		problems = append(problems, Problem{
			Code: CodeAddOnNotFitting, Path: addOnPath(ref), Item: ref,
			Message: fmt.Sprintf("%s is no add-on pack; remove it", ref.Slug),
		})
	}
	for _, item := range s.ordered {
		if fits(item, s.template) {
			continue
		}
		ref := refOf(item)
		problems = append(problems, Problem{
			Code: CodeAddOnNotFitting, Path: addOnPath(ref), Item: ref,
			Message: fmt.Sprintf("%s does not fit the template %s, only %s; remove it or choose such a template",
				ref.Slug, s.template.Metadata.Slug, strings.Join(item.AddOn.Fits, ", ")),
		})
	}
	return problems
}

// requirementProblems reports each thing that an add-on requires and that is
// not there.
func (s *selection) requirementProblems() []Problem {
	var problems []Problem
	for _, item := range s.ordered {
		needs := required(item)
		for _, slug := range needs.AddOns {
			if s.bySlug[slug] == nil {
				problems = append(problems, s.addOnRequired(item, slug))
			}
		}
		for _, capability := range needs.Capabilities {
			if len(s.givers(capability)) == 0 {
				problems = append(problems, s.capabilityRequired(item, capability))
			}
		}
	}
	return problems
}

func (s *selection) addOnRequired(item *manifest.Manifest, slug string) Problem {
	problem := s.requires(item, wish{addOns: []string{slug}}, "the add-on "+slug)
	problem.Suppliers = refsOf(filter(s.offers, func(m *manifest.Manifest) bool { return m.Metadata.Slug == slug }))
	return problem
}

func (s *selection) capabilityRequired(item *manifest.Manifest, capability manifest.Capability) Problem {
	problem := s.requires(item, wish{capabilities: []manifest.Capability{capability}}, string(capability))
	problem.Capability = capability
	problem.Suppliers = refsOf(s.suppliers(capability))
	return problem
}

func (s *selection) requires(item *manifest.Manifest, w wish, what string) Problem {
	ref := refOf(item)
	add := refsOf(s.smallestSet(w))
	remedy := fmt.Sprintf("no add-on that goes with the rest gives it: remove %s or choose another template", ref.Slug)
	if len(add) > 0 {
		remedy = "add " + listed(add)
	}
	return Problem{
		Code:    CodeAddOnRequires,
		Path:    addOnPath(ref),
		Message: fmt.Sprintf("%s requires %s; %s", ref.Slug, what, remedy),
		Item:    ref,
		Add:     add,
	}
}

func listed(refs []Ref) string {
	texts := make([]string, 0, len(refs))
	for _, ref := range refs {
		texts = append(texts, ref.String())
	}
	return strings.Join(texts, ", ")
}
