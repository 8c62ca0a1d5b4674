package graph

import (
	"context"

	"biztraak.dev/vm/graph/model"
	"biztraak.dev/vm/internal/catalog"
	"biztraak.dev/vm/internal/catalog/manifest"
	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
)

// refused splits the outcome of a mutation: refusals become the payload's
// userErrors, any other error goes on to be presented. The list is never nil,
// because an empty one is part of every payload.
func refused(ctx context.Context, err error) ([]model.UserError, error) {
	refusals, ok := fault.AsRefusals(err)
	if !ok {
		return []model.UserError{}, err
	}
	out := make([]model.UserError, len(refusals))
	for i, r := range refusals {
		if out[i], err = userError(ctx, r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// userError gives a refusal the type that its detail asks for. A detail whose
// objects are gone meanwhile leaves a plain error.
func userError(ctx context.Context, r fault.Refusal) (model.UserError, error) {
	l := loadsFrom(ctx)
	path := r.Path
	if path == nil {
		path = []string{}
	}
	switch detail := r.Detail.(type) {
	case fault.StaleAt:
		return model.StaleVersionError{Code: r.Code, Message: r.Message, Path: path, CurrentVersion: detail.Current}, nil
	case fault.HeldBy:
		held, err := l.operations.one(ctx, detail.OperationID)
		if err != nil {
			return nil, err
		}
		if held != nil {
			return model.OperationInProgressError{Code: r.Code, Message: r.Message, Path: path, Operation: held}, nil
		}
	case fault.UsedBy:
		users, err := l.nodes(ctx, detail.IDs)
		if err != nil {
			return nil, err
		}
		return model.InUseError{Code: r.Code, Message: r.Message, Path: path, UsedBy: without(users, nil)}, nil
	case fault.SuppliedBy:
		suppliers, err := l.suppliers(ctx, detail.AddOnIDs)
		if err != nil {
			return nil, err
		}
		missing := model.MissingCapabilitiesError{Code: r.Code, Message: r.Message, Path: path, Suppliers: suppliers}
		if detail.Capability != "" {
			c := manifest.Capability(detail.Capability)
			missing.Capability = &c
		}
		return missing, nil
	}
	return model.InputError{Code: r.Code, Message: r.Message, Path: path}, nil
}

func (l *loads) suppliers(ctx context.Context, ids []ident.ID) ([]*catalog.AddOn, error) {
	found, err := l.addOns.all(ctx, ids)
	if err != nil {
		return nil, err
	}
	return present(found), nil
}

// without leaves out the elements that equal none.
func without(nodes []model.Node, none model.Node) []model.Node {
	out := make([]model.Node, 0, len(nodes))
	for _, n := range nodes {
		if n != none {
			out = append(out, n)
		}
	}
	return out
}
