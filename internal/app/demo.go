package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"biztraak.dev/vm/internal/config"
	"biztraak.dev/vm/internal/transport/wsclient"
)

// demo drives a server through the life of a VM and fails unless each step was
// seen on the feeds.
func (c *commands) demo(ctx context.Context, cfg *config.Config, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, c.Demo.TotalWait)
	defer cancel()
	where := devFile{URL: c.Demo.URL, GraphQL: c.Demo.URL + "/graphql", Token: c.Demo.Token}
	if c.Demo.URL == "" {
		var err error
		if where, err = awaitDevFile(ctx, filepath.Join(cfg.DataDir, devFileName), c.Demo.Wait); err != nil {
			return err
		}
	}
	d := &demo{api: newAPI(where.GraphQL, where.Token), out: out, began: time.Now()}
	if err := d.run(ctx, c.Demo.Account); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	return nil
}

// awaitDevFile waits for the development server to be ready.
func awaitDevFile(ctx context.Context, path string, patience time.Duration) (devFile, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if f := readDevFile(path); f.GraphQL != "" {
			return f, nil
		}
		select {
		case <-ctx.Done():
			return devFile{}, fmt.Errorf("no development server: %s is not there. Start one with `make run` in another shell", path)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// demo is one run.
type demo struct {
	api   *api
	out   io.Writer
	began time.Time
	conn  *wsclient.Conn

	project, vm, provider string
}

func (d *demo) say(format string, args ...any) {
	_, _ = fmt.Fprintf(d.out, "%6.2fs  %s\n", time.Since(d.began).Seconds(), fmt.Sprintf(format, args...))
}

func (d *demo) run(ctx context.Context, account string) error {
	account, err := d.prepare(ctx, account)
	if err != nil {
		return err
	}
	if d.conn, err = wsclient.Dial(ctx, d.api.endpoint, d.api.token); err != nil {
		return err
	}
	defer func() { _ = d.conn.Close() }()
	seen, err := d.follow(ctx)
	if err != nil {
		return err
	}
	var made struct {
		Provision struct {
			VirtualMachineProvider struct{ ID string }
			UserErrors             userErrors
		}
	}
	err = d.api.call(ctx, provisionDocument, map[string]any{"vm": d.vm, "account": account}, &made)
	if err := errors.Join(err, made.Provision.UserErrors.err()); err != nil {
		return err
	}
	d.provider = made.Provision.VirtualMachineProvider.ID
	d.say("provisioning %s", d.provider)
	lines, err := d.followLogs(ctx)
	if err != nil {
		return err
	}
	if err := d.await(ctx, seen, "PENDING", "PROVISIONING", "RUNNING"); err != nil {
		return err
	}
	if err := d.awaitLines(ctx, lines); err != nil {
		return err
	}
	var stopped struct {
		Stop struct{ UserErrors userErrors }
	}
	err = d.api.call(ctx, stopDocument, map[string]any{"provider": d.provider}, &stopped)
	if err := errors.Join(err, stopped.Stop.UserErrors.err()); err != nil {
		return err
	}
	d.say("asked it to stop")
	if err := d.await(ctx, seen, "STOPPING", "STOPPED"); err != nil {
		return err
	}
	d.say("done: each step was seen on the feeds")
	return nil
}

// await reads the feed until the statuses were seen in their order.
func (d *demo) await(ctx context.Context, seen <-chan status, wanted ...string) error {
	for _, w := range wanted {
		for got := ""; got != w; {
			select {
			case s, open := <-seen:
				if !open {
					return fmt.Errorf("the event feed ended before %s was seen", w)
				}
				if s.err != nil {
					return s.err
				}
				got = s.name
			case <-ctx.Done():
				return fmt.Errorf("%s was not seen in time", w)
			}
		}
	}
	return nil
}

func (d *demo) awaitLines(ctx context.Context, lines <-chan error) error {
	select {
	case err := <-lines:
		return err
	case <-ctx.Done():
		return errors.New("no line of the guest's journal was seen in time")
	}
}
