package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"biztraak.dev/vm/internal/app"
	"biztraak.dev/vm/internal/config"
	"biztraak.dev/vm/internal/operation"
)

// What a child process is told by its parent.
const (
	childEnv    = "E2E_CHILD"
	childServer = "server" // the command line, as it is shipped
	childWorker = "worker" // a worker that stops at points of steps
	// holdEnv names the one point at which a worker holds, as "KIND step point";
	// empty holds the first operation at each point that there is.
	holdEnv = "E2E_HOLD"
)

// The files that a child process inherits.
const (
	guardFile   = 3 // at its end when the parent is gone
	reportFile  = 4 // the worker's points, a line each
	releaseFile = 5 // a line lets a held operation go on
)

// guardedByParent ends this process when the parent is gone, however that came.
func guardedByParent() {
	guard := os.NewFile(guardFile, "guard")
	go func() {
		_, _ = io.Copy(io.Discard, guard)
		os.Exit(3)
	}()
}

// runServer is the command of the product.
func runServer() int {
	guardedByParent()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return app.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

// runProbedWorker is a worker that tells where its steps are, and holds
// operations there.
func runProbedWorker() error {
	guardedByParent()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg, err := config.Load()
	if err != nil {
		return err
	}
	holder := &holder{
		only: os.Getenv(holdEnv), held: map[string]bool{},
		report: os.NewFile(reportFile, "report"), release: bufio.NewReader(os.NewFile(releaseFile, "release")),
	}
	p, err := app.Start(ctx, app.Options{
		Config: cfg, Roles: app.Roles{Work: true}, Hooks: app.Hooks{Probe: holder.probe},
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return p.Stop(context.WithoutCancel(ctx))
}

// holder holds operations at points of their steps, one at each.
type holder struct {
	only    string
	report  io.Writer
	release *bufio.Reader

	mu   sync.Mutex // guards held and the lines of report
	held map[string]bool
}

// probe implements operation.Probe. It holds the goroutine the way a page fault
// or a frozen machine would: deaf to its context.
func (h *holder) probe(_ context.Context, kind operation.Kind, step string, at operation.Point) {
	point := fmt.Sprintf("%s %s %s", kind, step, at)
	h.mu.Lock()
	first := !h.held[point]
	h.held[point] = true
	if first {
		_, _ = fmt.Fprintln(h.report, point)
	}
	h.mu.Unlock()
	if !first || (h.only != "" && h.only != point) {
		return
	}
	if h.only == "" {
		select {} // held until the process is killed
	}
	if _, err := h.release.ReadString('\n'); err != nil {
		select {} // the parent is gone, and with it this process
	}
}
