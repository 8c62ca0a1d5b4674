package transport

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// The two media types of a GraphQL response over HTTP. With the first the
// status tells how the request fared; with the second, the older, a well-formed
// answer has status 200 even when the document was refused.
const (
	typeResponse = "application/graphql-response+json"
	typeJSON     = "application/json"
	wildcardApp  = "application/*"
	wildcardAny  = "*/*"
)

// preference is how much a client wants one media type.
type preference struct {
	quality float64
	// specificity is 3 for the type by name, 2 for application/*, 1 for */*.
	specificity int
}

func (p preference) better(q preference) bool {
	if p.quality != q.quality {
		return p.quality > q.quality
	}
	return p.specificity > q.specificity
}

// negotiate picks the media type of the response from Accept (RFC 9110 12.5.1).
// No Accept and wildcards mean application/json, which every client reads;
// a client that names both and prefers neither gets the newer type. It reports
// false when the client takes neither, which is a 406.
func negotiate(h http.Header) (string, bool) {
	values := h.Values("Accept")
	if len(values) == 0 || strings.TrimSpace(strings.Join(values, "")) == "" {
		return typeJSON, true
	}
	var newer, older preference
	for _, item := range strings.Split(strings.Join(values, ","), ",") {
		name, quality, ok := acceptItem(item)
		if !ok {
			continue
		}
		switch name {
		case typeResponse:
			newer = preference{quality, 3}
		case typeJSON:
			older = preference{quality, 3}
		case wildcardApp:
			newer = moreSpecific(newer, preference{quality, 2})
			older = moreSpecific(older, preference{quality, 2})
		case wildcardAny:
			newer = moreSpecific(newer, preference{quality, 1})
			older = moreSpecific(older, preference{quality, 1})
		}
	}
	switch {
	case newer.quality <= 0 && older.quality <= 0:
		return "", false
	case newer.better(older), newer == older && newer.specificity == 3:
		return typeResponse, true
	default:
		return typeJSON, true
	}
}

// moreSpecific keeps what a name says over what a wildcard says, in any order.
func moreSpecific(have, next preference) preference {
	if have.specificity > next.specificity {
		return have
	}
	return next
}

// acceptItem reads one element of Accept. An element that is malformed, or asks
// for a charset that is not UTF-8, is as if it were not there.
func acceptItem(item string) (name string, quality float64, ok bool) {
	name, params, err := mime.ParseMediaType(item)
	if err != nil || !isUTF8(params["charset"]) {
		return "", 0, false
	}
	quality = 1
	if text, given := params["q"]; given {
		quality, err = strconv.ParseFloat(text, 64)
		if err != nil || !(quality >= 0 && quality <= 1) {
			return "", 0, false
		}
	}
	return name, quality, true
}

func isUTF8(charset string) bool {
	return charset == "" || strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "utf8")
}
