package graph

import (
	"log/slog"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"

	"biztraak.dev/vm/graph/gen"
	"biztraak.dev/vm/graph/model"
	"biztraak.dev/vm/internal/catalog"
	"biztraak.dev/vm/internal/hub"
	"biztraak.dev/vm/internal/operation"
	"biztraak.dev/vm/internal/project"
	"biztraak.dev/vm/internal/syslog"
	"biztraak.dev/vm/internal/team"
	"biztraak.dev/vm/internal/vm"
	"biztraak.dev/vm/schema"
)

// Deps are what the resolvers use. All fields are required.
type Deps struct {
	Teams      *team.Service
	Projects   *project.Service
	Catalog    *catalog.Service
	VMs        *vm.Service
	Operations *operation.Service
	Logs       *syslog.Store
	Hub        *hub.Hub

	// Version is the server's, DeployVMEnabled its feature switch, and
	// CloudProviders the kinds of clouds that it has drivers for.
	Version         string
	DeployVMEnabled bool
	CloudProviders  []*model.CloudProvider

	// Log gets what is masked in answers.
	Log *slog.Logger
}

// New makes the schema with its resolvers. A server of it needs Configure.
func New(d Deps) graphql.ExecutableSchema {
	clean, err := schema.Load()
	if err != nil {
		// The text is part of the program and was read when code was generated.
		panic("graph: " + err.Error())
	}
	return gen.NewExecutableSchema(gen.Config{Schema: clean, Resolvers: newResolver(d)})
}

// Configure gives a server of the schema its error presenter, its recover
// function and the extensions that the resolvers count on.
func Configure(srv *handler.Server, d Deps) {
	p := presenter{log: d.Log}
	srv.SetErrorPresenter(p.present)
	srv.SetRecoverFunc(p.recovered)
	srv.Use(&freshLoads{deps: d})
	srv.Use(&exactVariables{})
}
