package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/alecthomas/kong"
	"github.com/lmittmann/tint"
	"github.com/mattn/go-isatty"
	"github.com/redis/go-redis/v9"

	"biztraak.dev/vm/internal/config"
	"biztraak.dev/vm/internal/store"
)

// commands is the command line.
type commands struct {
	Dev     struct{} `cmd:"" help:"Run everything on this machine, with a private PostgreSQL and simulated clouds."`
	Serve   struct{} `cmd:"" help:"Answer requests."`
	Worker  struct{} `cmd:"" help:"Carry out operations."`
	All     struct{} `cmd:"" help:"Answer requests and carry out operations in one process."`
	Migrate struct {
		Up     struct{} `cmd:"" help:"Bring the database to the newest version."`
		Status struct{} `cmd:"" help:"List the migrations and whether the database has them."`
	} `cmd:"" help:"Look after the database."`
	Bootstrap struct {
		Team  string `required:"" help:"Name of the first team."`
		Email string `required:"" help:"E-mail address of its first owner."`
	} `cmd:"" help:"Make the first team and print its owner's token, once."`
	Config struct{} `cmd:"" help:"Print every setting with its default and meaning."`
	Demo   struct {
		URL       string        `help:"Where the server is; default: the development server's, from dev.json."`
		Token     string        `env:"DEMO_TOKEN" help:"Access token; default: the development server's."`
		Account   string        `help:"Cloud account; default: the development server's, or a simulated one that is connected for the demo."`
		Wait      time.Duration `default:"10s" help:"How long to wait for the server to be there."`
		TotalWait time.Duration `default:"2m" help:"How long the demo may take."`
	} `cmd:"" help:"Drive a running server through the life of a VM."`
}

// Main runs the command line and answers the exit code: 0 for done, 1 for
// failed, 2 for a command line that cannot be read.
func Main(ctx context.Context, args []string, out, errOut io.Writer) int {
	var c commands
	exit := -1
	parser, err := kong.New(&c, kong.Name("server"), kong.Description("Biztraak VM: virtual machines as components of projects."),
		kong.Writers(out, errOut), kong.Exit(func(code int) { exit = code }), kong.UsageOnError())
	if err != nil {
		_, _ = fmt.Fprintln(errOut, "server:", err)
		return 1
	}
	cmd, err := parser.Parse(args)
	if exit >= 0 {
		return exit // --help was answered
	}
	if err != nil {
		_, _ = fmt.Fprintln(errOut, "server:", err)
		return 2
	}
	if err := c.run(ctx, cmd.Command(), out, errOut); err != nil {
		_, _ = fmt.Fprintln(errOut, "server:", err)
		return 1
	}
	return 0
}

func (c *commands) run(ctx context.Context, command string, out, errOut io.Writer) error {
	if command == "config" {
		return config.Document(out)
	}
	cfg, err := config.Load()
	if err != nil {
		return err
	}
	log := newLogger(errOut, cfg.LogLevel)
	redis.SetLogger(quietRedis{}) // it prints each failed dial; the hub and the queue tell of an outage once
	switch command {
	case "dev":
		return RunDev(ctx, cfg, log, out)
	case "demo":
		return c.demo(ctx, cfg, out)
	}
	if err := cfg.Require(); err != nil && command != "migrate up" && command != "migrate status" {
		return err
	}
	if cfg.DatabaseURL == "" {
		return errors.New("missing setting: DATABASE_URL (such as postgres://user:password@host:5432/name)")
	}
	switch command {
	case "serve":
		return runRoles(ctx, cfg, log, Roles{Serve: true})
	case "worker":
		return runRoles(ctx, cfg, log, Roles{Work: true})
	case "all":
		return runRoles(ctx, cfg, log, Roles{Serve: true, Work: true})
	case "migrate up":
		return store.Migrate(ctx, cfg.DatabaseURL, log)
	case "migrate status":
		return migrateStatus(ctx, cfg, out)
	case "bootstrap":
		return bootstrap(ctx, cfg, log, c.Bootstrap.Team, c.Bootstrap.Email, out)
	}
	return fmt.Errorf("no command %q", command)
}

// runRoles runs a process of the roles until ctx ends.
func runRoles(ctx context.Context, cfg *config.Config, log *slog.Logger, roles Roles) error {
	p, err := Start(ctx, Options{Config: cfg, Roles: roles, Log: log})
	if err != nil {
		return err
	}
	log.InfoContext(ctx, "ready", "serve", roles.Serve, "work", roles.Work, "url", p.URL(), "version", Version())
	select {
	case <-ctx.Done():
		log.InfoContext(ctx, "stopping")
	case err = <-p.Failed():
	}
	return errors.Join(err, p.Stop(context.WithoutCancel(ctx)))
}

func migrateStatus(ctx context.Context, cfg *config.Config, out io.Writer) error {
	list, err := store.Migrations(ctx, cfg.DatabaseURL)
	if err != nil {
		return err
	}
	for _, m := range list {
		state := "pending"
		if m.Applied {
			state = "applied"
		}
		if _, err := fmt.Fprintf(out, "%-8s %s\n", state, m.Name); err != nil {
			return err
		}
	}
	return nil
}

// bootstrap makes the sealing key, if there is none, and the first team.
func bootstrap(ctx context.Context, cfg *config.Config, log *slog.Logger, teamName, email string, out io.Writer) error {
	if err := ensureKeyset(cfg.KeysetFile); err != nil {
		return err
	}
	sys, err := build(ctx, cfg, log, Hooks{})
	if err != nil {
		return err
	}
	defer sys.close()
	token, id, err := sys.teams.Bootstrap(ctx, teamName, email)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "team %s\ntoken %s\n\nThe token is shown this once. Keep %s apart from the database: without it sealed credentials are lost.\n",
		id, token, cfg.KeysetFile)
	return err
}

// pendingMigrations says whether the database is behind this server. Once it is
// not, it never will be again: migrations go forward only.
func (s *system) pendingMigrations(ctx context.Context) (bool, error) {
	if s.migrated.Load() {
		return false, nil
	}
	list, err := store.Migrations(ctx, s.cfg.DatabaseURL)
	if err != nil {
		return false, err
	}
	for _, m := range list {
		if !m.Applied {
			return true, nil
		}
	}
	s.migrated.Store(true)
	return false, nil
}

// quietRedis keeps the Redis client from writing to stderr by itself.
type quietRedis struct{}

// Printf implements the client's logger; it says nothing.
func (quietRedis) Printf(context.Context, string, ...any) {}

func newLogger(w io.Writer, level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo // the settings were checked before
	}
	if f, ok := w.(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		return slog.New(tint.NewTextHandler(w, &tint.Options{Level: l, TimeFormat: time.TimeOnly}))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l}))
}
