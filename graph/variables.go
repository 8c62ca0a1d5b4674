package graph

import (
	"context"
	"reflect"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// exactVariables refuses variables that the validator lets pass although they
// are of another type: names that are no value of an enum (it ignores their case,
// and a Go string holds anything, so that `owner` would get past every comparison
// with `OWNER`), and numbers in the place of text or of a Boolean, which the
// specification does not coerce (section 3.5).
type exactVariables struct{ schema *ast.Schema }

var (
	_ graphql.HandlerExtension        = (*exactVariables)(nil)
	_ graphql.OperationContextMutator = (*exactVariables)(nil)
)

// ExtensionName names the extension in logs.
func (*exactVariables) ExtensionName() string { return "ExactVariables" }

// Validate is told the schema.
func (x *exactVariables) Validate(schema graphql.ExecutableSchema) error {
	x.schema = schema.Schema()
	return nil
}

// MutateOperationContext checks the variables of the operation.
func (x *exactVariables) MutateOperationContext(_ context.Context, op *graphql.OperationContext) *gqlerror.Error {
	for _, v := range op.Operation.VariableDefinitions {
		path := ast.Path{ast.PathName("variable"), ast.PathName(v.Variable)}
		if err := x.check(v.Type, op.Variables[v.Variable], path); err != nil {
			return err
		}
	}
	return nil
}

// check walks a value along its type. The shape was validated before; only its
// leaves are in question.
func (x *exactVariables) check(t *ast.Type, value any, path ast.Path) *gqlerror.Error {
	if value == nil {
		return nil
	}
	if t.Elem != nil {
		return x.checkList(t.Elem, value, path)
	}
	definition := x.schema.Types[t.NamedType]
	switch definition.Kind {
	case ast.Enum:
		name, ok := value.(string)
		if !ok || definition.EnumValues.ForName(name) == nil {
			return notAValue(path, t.NamedType)
		}
	case ast.InputObject:
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		for _, field := range definition.Fields {
			if err := x.check(field.Type, object[field.Name], append(path, ast.PathName(field.Name))); err != nil {
				return err
			}
		}
	case ast.Scalar:
		return checkScalar(t.NamedType, value, path)
	case ast.Object, ast.Interface, ast.Union:
	}
	return nil
}

// checkScalar looks at the built-in scalars that would be coerced; the others
// look at their values themselves.
func checkScalar(name string, value any, path ast.Path) *gqlerror.Error {
	ok := true
	switch name {
	case "String":
		_, ok = value.(string)
	case "Boolean":
		_, ok = value.(bool)
	}
	if ok {
		return nil
	}
	err := gqlerror.ErrorPathf(path, "this is no %s", name)
	errcode.Set(err, errcode.ValidationFailed)
	return err
}

// checkList walks a list. The validator has made one value into a list of its
// own type, hence the reflection.
func (x *exactVariables) checkList(elem *ast.Type, value any, path ast.Path) *gqlerror.Error {
	list := reflect.ValueOf(value)
	if list.Kind() != reflect.Slice {
		return nil
	}
	for i := range list.Len() {
		if err := x.check(elem, list.Index(i).Interface(), append(path, ast.PathIndex(i))); err != nil {
			return err
		}
	}
	return nil
}

func notAValue(path ast.Path, enum string) *gqlerror.Error {
	err := gqlerror.ErrorPathf(path, "this is not a value of %s; the names of enum values are written in capitals", enum)
	errcode.Set(err, errcode.ValidationFailed)
	return err
}
