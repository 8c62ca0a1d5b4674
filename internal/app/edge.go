package app

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/redis/go-redis/v9"

	"biztraak.dev/vm/graph"
	"biztraak.dev/vm/graph/model"
	"biztraak.dev/vm/internal/provider"
	"biztraak.dev/vm/internal/transport"
	"biztraak.dev/vm/internal/transport/graphqlws"
	"biztraak.dev/vm/internal/transport/limits"
	"biztraak.dev/vm/internal/transport/playground"
)

// edge is everything that answers requests.
func (p *Process) edge(registry *graphqlws.Registry) (http.Handler, error) {
	s, cfg, dev := p.sys, p.opt.Config, p.opt.Dev
	auth := authenticator{tokens: s.tokens}
	origins := originsOf(cfg.AllowedOrigins, dev != nil)
	deps := graph.Deps{
		Teams: s.teams, Projects: s.projects, Catalog: s.catalog, VMs: s.vms, Operations: s.ops, Logs: s.logs, Hub: s.hub,
		Version: Version(), DeployVMEnabled: cfg.DeployVMEnabled, CloudProviders: s.cloudProviders(), Log: p.opt.Log,
	}
	srv := handler.New(graph.New(deps))
	srv.AddTransport(graphqlws.New(graphqlws.Options{Registry: registry, Authenticator: auth, Origins: origins, Log: p.opt.Log}))
	srv.AddTransport(transport.POST{})
	srv.AddTransport(transport.GET{})
	limits.Configure(srv, limits.Default())
	graph.Configure(srv, deps)
	if cfg.Introspection || dev != nil {
		srv.Use(extension.Introspection{})
	}
	opt := transport.Options{
		GraphQL: srv, Authenticator: auth, Origins: origins, Ready: p.ready, Log: p.opt.Log,
	}
	if dev != nil {
		opt.Hosts = transport.LocalHosts
	}
	if cfg.Playground || dev != nil {
		conf := playground.Config{Examples: examples(dev)}
		if dev != nil {
			conf.Token = dev.Token
		}
		page, err := playground.New(conf)
		if err != nil {
			return nil, err
		}
		opt.Playground = page
	}
	return transport.NewRouter(opt), nil
}

// originsOf allows the configured origins, and on a development server any
// http://localhost.
func originsOf(allowed []string, dev bool) func(string) bool {
	return func(origin string) bool {
		if slices.Contains(allowed, origin) {
			return true
		}
		u, err := url.Parse(origin)
		return dev && err == nil && u.Scheme == "http" && transport.LocalHosts(u.Hostname())
	}
}

// cloudProviders are the kinds of clouds that there is a driver for.
func (s *system) cloudProviders() []*model.CloudProvider {
	names := map[provider.Kind]string{provider.KindSimulator: "Simulated cloud"}
	var out []*model.CloudProvider
	for _, kind := range s.drivers.Kinds() {
		out = append(out, &model.CloudProvider{Kind: string(kind), Name: names[kind], Simulated: kind == provider.KindSimulator})
	}
	return out
}

// ready says whether requests can be answered: Postgres decides. Without Redis
// everything is answered, and changes arrive a little later.
func (p *Process) ready(ctx context.Context) transport.Readiness {
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := p.sys.db.Ping(ctx); err != nil {
		return transport.Readiness{Body: map[string]string{"status": "unavailable", "postgres": "down"}}
	}
	pending, err := p.sys.pendingMigrations(ctx)
	if err != nil || pending {
		return transport.Readiness{Body: map[string]string{"status": "unavailable", "migrations": "pending"}}
	}
	if !redisAnswers(ctx, p.sys.redis) {
		return transport.Readiness{OK: true, Body: map[string]string{"status": "degraded", "redis": "down"}}
	}
	return transport.Readiness{OK: true}
}

// redisAnswers asks on a connection of its own: a pooled one may remember a
// Redis that is gone.
func redisAnswers(ctx context.Context, opt *redis.Options) bool {
	o := *opt
	o.MaxRetries, o.PoolSize = -1, 1
	c := redis.NewClient(&o)
	defer func() { _ = c.Close() }()
	return c.Ping(ctx).Err() == nil
}
