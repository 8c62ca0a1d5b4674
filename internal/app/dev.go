package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"biztraak.dev/vm/internal/auth"
	"biztraak.dev/vm/internal/config"
	"biztraak.dev/vm/internal/devstack"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/seal"
	"biztraak.dev/vm/internal/store"
	"biztraak.dev/vm/internal/team"
)

// devFile is what a development server tells programs about itself, in
// $DATA_DIR/dev.json.
type devFile struct {
	URL            string   `json:"url"`
	GraphQL        string   `json:"graphql"`
	Token          string   `json:"token"`
	TeamID         ident.ID `json:"teamId"`
	CloudAccountID ident.ID `json:"cloudAccountId"`
}

const (
	devFileName = "dev.json"
	devDatabase = "biztraak"
	devTeam     = "Demo"
	devEmail    = "dev@localhost.test"
	devAccount  = "Simulated cloud"
)

// RunDev runs the development server until ctx ends.
func RunDev(ctx context.Context, cfg *config.Config, log *slog.Logger, out io.Writer) (err error) {
	began := time.Now()
	lock, err := devstack.LockDataDir(cfg.DataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	path := filepath.Join(cfg.DataDir, devFileName)
	// A file that is there is about a server that was killed.
	if err := retire(path); err != nil {
		return err
	}
	known := readDevFile(path + retired)
	parts, err := startStack(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, parts.stop(context.WithoutCancel(ctx))) }()
	cfg.Listen, cfg.DeployVMEnabled = "127.0.0.1", true
	if err := store.Migrate(ctx, cfg.DatabaseURL, log); err != nil {
		return err
	}
	if err := ensureKeyset(cfg.KeysetFile); err != nil {
		return err
	}
	file, err := prepareDemo(ctx, cfg, log, known)
	if err != nil {
		return fmt.Errorf("prepare the demo team: %w", err)
	}
	p, err := Start(ctx, Options{
		Config: cfg, Roles: Roles{Serve: true, Work: true}, Log: log,
		Dev: &Dev{Token: file.Token, TeamID: file.TeamID, CloudAccountID: file.CloudAccountID},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop(context.WithoutCancel(ctx))) }()
	file.URL, file.GraphQL = p.URL(), p.URL()+"/graphql"
	if err := writeDevFile(path, file); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, retire(path)) }()
	announceDev(out, file, path, time.Since(began))
	select {
	case <-ctx.Done():
		_, _ = fmt.Fprintln(out, "Stopping; everything is kept for the next start.")
		return nil
	case err := <-p.Failed():
		return err
	case <-parts.died():
		return fmt.Errorf("the private PostgreSQL has ended by itself: %w", parts.postgres.Err())
	}
}

// stack is what a development server brings itself.
type stack struct {
	postgres *devstack.Postgres // nil when DATABASE_URL is set
	redis    *devstack.Redis    // nil when REDIS_URL is set
}

func startStack(ctx context.Context, cfg *config.Config, log *slog.Logger) (_ *stack, err error) {
	s := &stack{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop(context.WithoutCancel(ctx)))
		}
	}()
	if cfg.DatabaseURL == "" {
		if s.postgres, err = devstack.StartPostgres(ctx, devstack.PostgresOptions{DataDir: cfg.DataDir, Log: log}); err != nil {
			return nil, err
		}
		if err = s.postgres.EnsureDatabase(ctx, devDatabase); err != nil {
			return nil, err
		}
		cfg.DatabaseURL = s.postgres.DSN(devDatabase)
	}
	if cfg.RedisURL == "" {
		if s.redis, err = devstack.StartRedis(ctx); err != nil {
			return nil, err
		}
		cfg.RedisURL = s.redis.URL()
	}
	return s, nil
}

// died tells when the private cluster ends by itself.
func (s *stack) died() <-chan struct{} {
	if s.postgres == nil {
		return nil
	}
	return s.postgres.Done()
}

func (s *stack) stop(ctx context.Context) error {
	var errs []error
	if s.redis != nil {
		errs = append(errs, s.redis.Stop(ctx))
	}
	if s.postgres != nil {
		errs = append(errs, s.postgres.Stop(ctx))
	}
	return errors.Join(errs...)
}

// ensureKeyset makes the sealing key if there is none.
func ensureKeyset(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := seal.CreateKeyset(path); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// prepareDemo makes the demo team, its token and its simulated account, or finds
// those of an earlier start.
func prepareDemo(ctx context.Context, cfg *config.Config, log *slog.Logger, known devFile) (devFile, error) {
	sys, err := build(ctx, cfg, log, Hooks{})
	if err != nil {
		return devFile{}, err
	}
	defer sys.close()
	file := devFile{Token: known.Token}
	if _, err := sys.tokens.Authenticate(ctx, file.Token); err != nil {
		if file.Token, err = sys.devToken(ctx); err != nil {
			return devFile{}, err
		}
	}
	actor, err := sys.tokens.Authenticate(ctx, file.Token)
	if err != nil {
		return devFile{}, err
	}
	ctx = auth.WithActor(ctx, actor)
	teams, err := sys.teams.Mine(ctx)
	if err != nil || len(teams) == 0 {
		return devFile{}, errors.Join(errors.New("the demo user has no team"), err)
	}
	file.TeamID = teams[0].ID
	file.CloudAccountID, err = sys.devAccount(ctx, file.TeamID)
	return file, err
}

// devToken makes the first team on the first start, and a further token for its
// owner when the one of an earlier start is not known any more.
func (s *system) devToken(ctx context.Context) (string, error) {
	token, _, err := s.teams.Bootstrap(ctx, devTeam, devEmail)
	var done *team.BootstrappedError
	if errors.As(err, &done) {
		return s.teams.OperatorToken(ctx, "dev")
	}
	return token, err
}

func (s *system) devAccount(ctx context.Context, teamID ident.ID) (ident.ID, error) {
	made, err := s.teams.ConnectAccount(ctx, team.ConnectAccountInput{
		TeamID: teamID, Name: devAccount, Simulator: &team.SimulatorInput{Token: "simulated"},
	})
	if err == nil {
		return made.CloudAccount.ID, nil
	}
	var found ident.ID
	lookErr := s.db.Gorm(ctx).Raw(`SELECT id FROM cloud_account WHERE team_id = ? AND name = ?`, teamID, devAccount).Scan(&found).Error
	if lookErr != nil || found == "" {
		return "", errors.Join(err, lookErr)
	}
	return found, nil
}

// retired is what a file about a server that has ended is called: it is not to
// be found by who looks for a server, but the token in it still works.
const retired = ".last"

func retire(path string) error {
	if err := os.Rename(path, path+retired); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("put %s aside: %w", path, err)
	}
	return nil
}

func readDevFile(path string) devFile {
	var f devFile
	raw, err := os.ReadFile(path) //nolint:gosec // the operator's own folder
	if err != nil || json.Unmarshal(raw, &f) != nil {
		return devFile{}
	}
	return f
}

// writeDevFile appears all at once: whoever waits for the file finds it whole.
func writeDevFile(path string, f devFile) error {
	raw, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	const ownerOnly = 0o600
	draft := path + ".new"
	if err := os.WriteFile(draft, append(raw, '\n'), ownerOnly); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(draft, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func announceDev(out io.Writer, f devFile, path string, took time.Duration) {
	_, _ = fmt.Fprintf(out, `
Biztraak VM is ready (%d ms).

  Playground  %s/
  GraphQL     %s
  Token       %s
  Team        %s
  Account     %s (simulated: no real machines)
  For tools   %s

Try it: make demo in a second shell. Stop with Ctrl-C; everything is kept.
`, took.Milliseconds(), f.URL, f.GraphQL, f.Token, f.TeamID, f.CloudAccountID, path)
}
