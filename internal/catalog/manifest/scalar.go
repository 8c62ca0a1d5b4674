package manifest

import (
	"encoding/json"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

var (
	plainInteger = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,17})$`)
	// numberLike is what some reader of YAML takes for a number or a time
	// although the format has no such value: decimals, octals, hexadecimals,
	// underscores, exponents, signs, base 60 and dates.
	numberLike = regexp.MustCompile(`^(` + strings.Join([]string{
		`[-+]?[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?`,
		`[-+]?\.[0-9][0-9_]*([eE][-+]?[0-9]+)?`,
		`[-+]?0[xX][0-9a-fA-F_]+`,
		`[-+]?0[oObB][0-7_]+`,
		`[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?`,
		`[-+]?\.(inf|Inf|INF)`,
		`\.(nan|NaN|NAN)`,
		`[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?`,
	}, "|") + `)$`)
)

// scalarValue reads a scalar by the rules of JSON, which all YAML readers
// share. It returns a reason instead of a value where they differ: `no` is
// false for some and 0644 is 420 for others, and a manifest must mean the same
// to its author and to us.
func scalarValue(node *yaml.Node) (value any, reason string) {
	text := node.Value
	if node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return text, ""
	}
	switch {
	case text == "" || text == "~" || text == "null":
		return nil, ""
	case text == "true":
		return true, ""
	case text == "false":
		return false, ""
	case plainInteger.MatchString(text):
		return json.Number(text), ""
	}
	switch strings.ToLower(text) {
	case "yes", "no", "on", "off", "y", "n", "true", "false", "null":
		return nil, "is read as a truth value by some and as text by others: write true or false, or quote it"
	}
	if numberLike.MatchString(text) {
		return nil, "is read as a number or a time by some and as text by others: quote it, or write a whole number in plain decimal digits"
	}
	return text, ""
}
