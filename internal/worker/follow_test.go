package worker

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/devstack/redistest"
	"biztraak.dev/vm/internal/guest"
	"biztraak.dev/vm/internal/syslog"
)

// journal is a guest whose machines have all said the same number of lines.
type journal struct {
	mu      sync.Mutex
	lines   int
	reading int
	gap     bool
}

func (j *journal) Ready(context.Context, guest.Target) error { return nil }

func (j *journal) ReadJournal(ctx context.Context, target guest.Target, r guest.JournalRequest) (guest.JournalBatch, error) {
	j.mu.Lock()
	j.reading++
	lines, gap := j.lines, j.gap
	j.mu.Unlock()
	defer func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.reading--
	}()
	from := 0
	if r.After != "" {
		from, _ = strconv.Atoi(r.After)
	}
	batch := guest.JournalBatch{Next: r.After}
	for n := from; n < lines && len(batch.Entries) < 7; n++ {
		batch.Next = strconv.Itoa(n + 1)
		batch.Entries = append(batch.Entries, guest.JournalEntry{
			Cursor: batch.Next, Time: time.Now(), Unit: "app", Priority: guest.PriorityInfo,
			Message: fmt.Sprintf("%s says %d", target.InstanceID, n),
		})
	}
	if gap && r.After == "" {
		batch.Gap = &guest.Gap{Reason: "the journal was rotated"}
	}
	if len(batch.Entries) == 0 {
		t := time.NewTimer(10 * time.Millisecond)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return batch, ctx.Err()
		}
	}
	return batch, nil
}

func (j *journal) say(lines int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = lines
}

// want says whether journals are to be followed.
func (w *world) want(wanted bool, providers ...string) {
	w.t.Helper()
	db := stdlib.OpenDBFromPool(w.db.Pool())
	defer func() { require.NoError(w.t, db.Close()) }()
	tx, err := db.BeginTx(w.t.Context(), &sql.TxOptions{})
	require.NoError(w.t, err)
	for _, id := range providers {
		require.NoError(w.t, w.logs.WantTx(w.t.Context(), tx, id, wanted))
	}
	require.NoError(w.t, tx.Commit())
}

func (w *world) messages(provider string) []string {
	w.t.Helper()
	return query[[]string](w, "SELECT message FROM log_line WHERE provider_id = ? ORDER BY seq", provider)
}

func (w *world) hasSaid(provider string, lines int) {
	w.t.Helper()
	require.Eventually(w.t, func() bool { return len(w.messages(provider)) >= lines }, patience, 10*time.Millisecond,
		"the log of %s does not get there", provider)
	var want []string
	for n := range lines {
		want = append(want, fmt.Sprintf("%s says %d", provider, n))
	}
	require.Equal(w.t, want, w.messages(provider), "each line once and in order")
}

// The journals are followed by whoever is there, from where the last one was.
func TestJournalsAreFollowed(t *testing.T) {
	w := newWorld(t)
	j := &journal{lines: 20}
	w.clouds.guest = j
	w.want(true, "vmp_a", "vmp_b")
	url := redistest.InProcess(t)
	first := w.worker(url)
	require.NoError(t, first.Start(t.Context()))
	w.hasSaid("vmp_a", 20)
	w.hasSaid("vmp_b", 20)
	j.say(30)
	w.hasSaid("vmp_a", 30)
	w.stop(first)
	require.Zero(t, j.reading, "nobody reads for a worker that has stopped")
	j.say(50)
	w.started(url)
	w.hasSaid("vmp_a", 50)
	w.hasSaid("vmp_b", 50)
	w.want(false, "vmp_b")
	require.Eventually(t, func() bool {
		return query[bool](w, "SELECT session_id IS NULL FROM log_follower WHERE provider_id = 'vmp_b'")
	}, patience, 10*time.Millisecond, "it is let go")
}

func TestTwoWorkersShareTheJournals(t *testing.T) {
	w := newWorld(t)
	j := &journal{lines: 10}
	w.clouds.guest = j
	var all []string
	for n := range 15 { // one worker follows ten
		all = append(all, fmt.Sprintf("vmp_%02d", n))
	}
	w.want(true, all...)
	url := redistest.InProcess(t)
	w.started(url)
	w.started(url)
	for _, id := range all {
		w.hasSaid(id, 10)
	}
}

func TestLinesOfABatchWithAGap(t *testing.T) {
	now := time.Now()
	got := linesOf(guest.JournalBatch{
		Gap:     &guest.Gap{Reason: "the journal was rotated"},
		Entries: []guest.JournalEntry{{Time: now, Unit: "app", Priority: guest.PriorityError, Message: "boom"}},
	})
	require.Equal(t, []syslog.Line{
		{Source: syslog.Platform, Unit: "follower", Priority: 4, Message: "lines may be missing here: the journal was rotated"},
		{Time: now, Source: syslog.Journal, Unit: "app", Priority: 3, Message: "boom"},
	}, got)
}
