package e2e_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/hub"
	"biztraak.dev/vm/internal/syslog"
)

// logLines appends numbered lines to the log of a machine, as another process
// without Redis would: every second one is an error of the unit "app".
func (e *estate) logLines(provider string, n int) {
	e.t.Helper()
	lines := make([]syslog.Line, n)
	for i := range lines {
		lines[i] = syslog.Line{Time: time.Now(), Source: syslog.Platform, Unit: "system", Priority: 6, Message: fmt.Sprintf("line %d", i)}
		if i%2 == 1 {
			lines[i].Unit, lines[i].Priority = "app", 3
		}
	}
	alone, err := hub.New(hub.Config{
		Heads: hub.Sources{hub.KindLog: func(context.Context, []string) (map[string]int64, error) { return nil, nil }},
		Log:   slog.New(slog.DiscardHandler),
	})
	require.NoError(e.t, err)
	db := stdlib.OpenDBFromPool(e.sql)
	defer func() { require.NoError(e.t, db.Close()) }()
	tx, err := db.BeginTx(e.ctx, nil)
	require.NoError(e.t, err)
	_, err = syslog.New(e.sql, alone).AppendTx(e.ctx, tx, provider, lines)
	require.NoError(e.t, err)
	require.NoError(e.t, tx.Commit())
}
