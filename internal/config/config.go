// Package config holds every setting of the server in one struct. Settings come
// from the environment; each has its default and its meaning beside it, and
// `server config` prints them from here.
//
// It reads and checks settings, and knows nothing of what they are for.
package config

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"text/tabwriter"

	"github.com/caarlos0/env/v11"
)

// Config is every setting.
type Config struct {
	Port                   int      `env:"PORT" envDefault:"8080" doc:"port to listen on; 0 takes a free one"`
	Listen                 string   `env:"LISTEN" envDefault:"0.0.0.0" doc:"address to listen on (serve and all; dev listens on 127.0.0.1 only)"`
	MetricsListen          string   `env:"METRICS_LISTEN" envDefault:"127.0.0.1:0" doc:"host:port for /metrics, on a listener of its own; empty for none"`
	DataDir                string   `env:"DATA_DIR" doc:"folder for the data of dev mode; as root /var/lib/biztraak-vm, else $XDG_STATE_HOME/biztraak-vm"`
	DatabaseURL            string   `env:"DATABASE_URL" secret:"true" doc:"PostgreSQL 15 or newer; dev starts a private one when empty"`
	RedisURL               string   `env:"REDIS_URL" secret:"true" doc:"Redis 6.2 or newer, with maxmemory-policy noeviction; dev has one in-process when empty"`
	KeysetFile             string   `env:"KEYSET_FILE" doc:"file with the key that seals credentials; dev and bootstrap make it. Without it sealed credentials are lost: keep a copy apart from the database"`
	AllowedOrigins         []string `env:"ALLOWED_ORIGINS" doc:"comma-separated origins, such as https://app.example.com, from which browsers may call and open WebSockets; dev: any http://localhost"`
	Playground             bool     `env:"PLAYGROUND" doc:"serve the playground at / (dev: always; serve: off until set)"`
	Introspection          bool     `env:"INTROSPECTION" doc:"answer introspection to anybody who is let in (dev: always; serve: off until set)"`
	DeployVMEnabled        bool     `env:"DEPLOY_VM_ENABLED" doc:"let VMs be provisioned, started and restarted (dev: always; serve: off until set)"`
	DatabaseConns          int      `env:"DATABASE_CONNS" envDefault:"20" doc:"most connections that one process opens to PostgreSQL; with all processes stay below its max_connections - 10"`
	WorkerUrgent           int      `env:"WORKER_URGENT" envDefault:"8" doc:"stops, destroys and cancels that one worker carries out at once"`
	WorkerWork             int      `env:"WORKER_WORK" envDefault:"16" doc:"other operations that one worker carries out at once"`
	WorkerFollowers        int      `env:"WORKER_FOLLOWERS" envDefault:"1000" doc:"journals that one worker follows at most"`
	ReconcileSeconds       int      `env:"RECONCILE_SECONDS" envDefault:"30" doc:"seconds between two looks at each cloud account"`
	LogRetentionDays       int      `env:"LOG_RETENTION_DAYS" envDefault:"14" doc:"whole days for which log lines are kept beside today"`
	LogMaxBytesPerProvider int64    `env:"LOG_MAX_BYTES_PER_PROVIDER" envDefault:"1073741824" doc:"bytes of log that are kept for one VM provider; above it the oldest day goes"`
	SimulatorBootMillis    int      `env:"SIMULATOR_BOOT_MILLIS" envDefault:"2000" doc:"milliseconds that a simulated machine takes to boot"`
	LogLevel               string   `env:"LOG_LEVEL" envDefault:"info" doc:"debug, info, warn or error"`
}

// Load reads the settings from the environment and fills in what depends on
// the machine.
func Load() (*Config, error) {
	c := &Config{}
	if err := env.Parse(c); err != nil {
		return nil, fmt.Errorf("read settings: %w (run `server config` for their meaning)", err)
	}
	if c.DataDir == "" {
		dir, err := defaultDataDir()
		if err != nil {
			return nil, err
		}
		c.DataDir = dir
	}
	if c.KeysetFile == "" {
		c.KeysetFile = filepath.Join(c.DataDir, "keyset.json")
	}
	return c, c.validate()
}

func defaultDataDir() (string, error) {
	const name = "biztraak-vm"
	if os.Geteuid() == 0 {
		return "/var/lib/" + name, nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, name), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for data: %w; set DATA_DIR", err)
	}
	return filepath.Join(home, ".local", "state", name), nil
}

func (c *Config) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Port < 0 || c.Port > 65535 {
		bad("PORT is 0 to 65535, not %d", c.Port)
	}
	for name, n := range map[string]int{
		"DATABASE_CONNS": c.DatabaseConns, "WORKER_URGENT": c.WorkerUrgent, "WORKER_WORK": c.WorkerWork,
		"WORKER_FOLLOWERS": c.WorkerFollowers, "RECONCILE_SECONDS": c.ReconcileSeconds,
		"LOG_RETENTION_DAYS": c.LogRetentionDays, "SIMULATOR_BOOT_MILLIS": c.SimulatorBootMillis,
	} {
		if n < 1 {
			bad("%s is at least 1, not %d", name, n)
		}
	}
	for _, o := range c.AllowedOrigins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" {
			bad("ALLOWED_ORIGINS has %q, which is no origin: write https://app.example.com, without a path", o)
		}
	}
	if c.MetricsListen != "" {
		if _, _, err := net.SplitHostPort(c.MetricsListen); err != nil {
			bad("METRICS_LISTEN is host:port, not %q", c.MetricsListen)
		}
	}
	switch c.LogLevel {
	case "debug", "info", "warn", "error":
	default:
		bad("LOG_LEVEL is debug, info, warn or error, not %q", c.LogLevel)
	}
	return errors.Join(errs...)
}

// Require says that the settings a role cannot do without are there.
func (c *Config) Require() error {
	var missing []string
	if c.DatabaseURL == "" {
		missing = append(missing, "DATABASE_URL (such as postgres://user:password@host:5432/name)")
	}
	if c.RedisURL == "" {
		missing = append(missing, "REDIS_URL (such as redis://host:6379)")
	}
	if len(missing) > 0 {
		return fmt.Errorf("missing settings: %s; for a system that needs none run `server dev`", strings.Join(missing, ", "))
	}
	return nil
}

// Document prints every setting with its default and its meaning.
func Document(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "SETTING\tDEFAULT\tMEANING") // tabwriter reports errors at Flush
	typ := reflect.TypeFor[Config]()
	for i := range typ.NumField() {
		tag := typ.Field(i).Tag
		def := tag.Get("envDefault")
		if def == "" {
			def = "-"
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s\n", tag.Get("env"), def, tag.Get("doc"))
	}
	return t.Flush()
}
