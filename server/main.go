// Command server is Biztraak VM: `server dev` runs everything on this machine,
// `server --help` lists the rest.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"biztraak.dev/vm/internal/app"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := app.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
