package graph

import (
	"context"

	"biztraak.dev/vm/graph/gen"
	"biztraak.dev/vm/internal/catalog"
	"biztraak.dev/vm/internal/vm"
)

func (r *addOnPackResolver) ExtraResources(ctx context.Context, obj *catalog.AddOn) (*vm.Resources, error) {
	return resources(obj.ExtraResources), nil
}

func (r *queryResolver) VMTemplates(ctx context.Context) ([]*catalog.Template, error) {
	return r.Catalog.Templates(ctx)
}

func (r *queryResolver) AddOnPacks(ctx context.Context) ([]*catalog.AddOn, error) {
	return r.Catalog.AddOns(ctx)
}

func (r *vmTemplateResolver) LeastResources(ctx context.Context, obj *catalog.Template) (*vm.Resources, error) {
	return resources(obj.LeastResources), nil
}

func (r *Resolver) AddOnPack() gen.AddOnPackResolver { return &addOnPackResolver{r} }

func (r *Resolver) VmTemplate() gen.VmTemplateResolver { return &vmTemplateResolver{r} }

type (
	addOnPackResolver  struct{ *Resolver }
	vmTemplateResolver struct{ *Resolver }
)
