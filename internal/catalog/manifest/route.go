package manifest

import (
	"fmt"
	"strings"
)

// maxRouteLength is a generous bound in bytes; proxies and browsers accept
// more.
const maxRouteLength = 255

// NormalizeRoute puts a path prefix into the form in which prefixes are stored
// and compared: a leading slash, no trailing one, none repeated. A segment is
// made of ASCII letters, digits and - _ . ~ and is not "." or ".."; "/" alone
// is no prefix. The case is kept; comparing is without regard to it.
func NormalizeRoute(route string) (string, error) {
	if len(route) > maxRouteLength {
		return "", fmt.Errorf("route is longer than %d bytes", maxRouteLength)
	}
	var normal strings.Builder
	for segment := range strings.SplitSeq(route, "/") {
		if segment == "" {
			continue
		}
		if segment == "." || segment == ".." {
			return "", fmt.Errorf("route %q has the segment %q", route, segment)
		}
		if at := strings.IndexFunc(segment, outsideSegment); at >= 0 {
			return "", fmt.Errorf("route %q has a character other than letters, digits, '-', '_', '.' and '~' in %q", route, segment)
		}
		normal.WriteByte('/')
		normal.WriteString(segment)
	}
	if normal.Len() == 0 {
		return "", fmt.Errorf("route %q has no segment", route)
	}
	return normal.String(), nil
}

func outsideSegment(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	default:
		return !strings.ContainsRune("-_.~", r)
	}
}
