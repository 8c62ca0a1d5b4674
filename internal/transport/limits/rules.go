package limits

import (
	"github.com/vektah/gqlparser/v2/validator/core"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// validationRules makes the rules of the specification without their
// suggestions ("Did you mean …"), which cost a comparison with every name of
// the schema and tell a stranger what the schema holds. Each call of the result
// is for one document and reports at most maxErrors errors.
func validationRules(maxErrors int) func() *rules.Rules {
	mute := []struct{ loud, quiet core.Rule }{
		{rules.FieldsOnCorrectTypeRule, rules.FieldsOnCorrectTypeRuleWithoutSuggestions},
		{rules.KnownArgumentNamesRule, rules.KnownArgumentNamesRuleWithoutSuggestions},
		{rules.KnownTypeNamesRule, rules.KnownTypeNamesRuleWithoutSuggestions},
		{rules.ScalarLeafsRule, rules.ScalarLeafsRuleWithoutSuggestions},
		{rules.ValuesOfCorrectTypeRule, rules.ValuesOfCorrectTypeRuleWithoutSuggestions},
	}
	all := rules.NewDefaultRules()
	for _, rule := range mute {
		all.RemoveRule(rule.loud.Name)
		all.AddRule(rule.quiet.Name, rule.quiet.RuleFunc)
	}
	inner := all.GetInner()
	return func() *rules.Rules {
		found := 0
		limited := rules.NewRules()
		for name, rule := range inner {
			limited.AddRule(name, func(observers *core.Events, addError core.AddErrFunc) {
				rule(observers, func(options ...core.ErrorOption) {
					if found++; found <= maxErrors {
						addError(options...)
					}
				})
			})
		}
		return limited
	}
}
