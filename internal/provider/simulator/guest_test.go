package simulator_test

import (
	"context"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/guest"
	"biztraak.dev/vm/internal/provider/simulator"
)

func TestReady(t *testing.T) {
	w := newWorld(simulator.Options{})
	ref := w.create(t, "web")
	steps := []struct {
		pass time.Duration
		do   string
		want error
	}{
		{0, "", guest.ErrNotReady},
		{1600 * ms, "", guest.ErrNotReady}, // the cloud calls it running, the guest is not up
		{399 * ms, "", guest.ErrNotReady},
		{ms, "", nil},
		{time.Hour, "restart", guest.ErrNotReady},
		{3 * time.Second, "", nil},
		{0, "stop", guest.ErrUnreachable},
		{time.Second, "", guest.ErrUnreachable},
		{0, "start", guest.ErrNotReady},
		{2 * time.Second, "", nil},
		{0, "remove", guest.ErrUnreachable},
	}
	for i, s := range steps {
		w.pass(s.pass)
		if s.do != "" {
			require.NoError(t, w.do(t.Context(), s.do, ref))
		}
		require.ErrorIs(t, w.Ready(t.Context(), w.target(ref)), s.want, "step %d", i)
	}
	require.ErrorIs(t, w.Ready(t.Context(), guest.Target{InstanceID: "sim-none"}), guest.ErrUnreachable)
}

// TestJournalIsWrittenOnce follows a machine through a full life, in steps of odd
// lengths, and compares with what a late reader gets in one go.
func TestJournalIsWrittenOnce(t *testing.T) {
	w := newWorld(simulator.Options{})
	ref := w.create(t, "web")
	var followed []guest.JournalEntry
	after := ""
	follow := func(d time.Duration) {
		for ; d > 0; d -= 170 * ms {
			w.pass(min(d, 170*ms))
			// Each read is by another process.
			w.Simulator = simulator.New(w.store, simulator.Options{Now: w.clock, BootTime: time.Minute})
			fresh := w.readAll(t, ref, after)
			if len(fresh) > 0 {
				after = fresh[len(fresh)-1].Cursor
			}
			followed = append(followed, fresh...)
		}
	}
	act := func(what string) { require.NoError(t, w.do(t.Context(), what, ref), what) }
	follow(13 * time.Second)
	act("restart")
	follow(3 * time.Second)
	act("stop")
	follow(2 * time.Second)
	act("start")
	follow(time.Second)
	act("power-off") // in the middle of a boot
	follow(7 * time.Second)
	act("power-on")
	follow(20 * time.Second)

	require.Equal(t, followed, w.readAll(t, ref, ""))
	cursors := map[string]bool{}
	for i, entry := range followed {
		require.False(t, cursors[entry.Cursor], "cursor %s twice", entry.Cursor)
		cursors[entry.Cursor] = true
		require.NotEmpty(t, entry.Message)
		require.NotEmpty(t, entry.Unit)
		require.NotContains(t, entry.Message, "{", "a placeholder is left")
		if i > 0 {
			require.False(t, entry.Time.Before(followed[i-1].Time), "entry %d is out of order", i)
		}
	}
	for _, cursor := range []int{0, 5, len(followed) - 2} {
		require.Equal(t, followed[cursor+1:], w.readAll(t, ref, followed[cursor].Cursor))
	}
}

func TestJournalTellsTheLife(t *testing.T) {
	w := newWorld(simulator.Options{})
	stages := []struct {
		do   string
		pass time.Duration
		want []string // in this order, other lines in between
		not  string
	}{
		{"", 2 * time.Second, []string{`^simulated kernel 6.1 on 2 CPU, 4096 MiB`, `host name web`, `eth0: leased 10\.`, `^accepting connections on port 22`, `^web is up after 2s`}, `asked to shut down`},
		{"", 20 * time.Second, []string{`^load \d`, `^clock is off`, `^disk \d+ %`, `^job housekeeping`}, `kernel`},
		{"stop", time.Second, []string{`^asked to shut down`, `no longer accepting`, `^journal closed`}, `^load`},
		{"", time.Hour, nil, `.`},
		{"start", 2 * time.Second, []string{`^simulated kernel`, `^web is up`}, `^load`},
	}
	ref := w.create(t, "web")
	after := ""
	for i, s := range stages {
		if s.do != "" {
			require.NoError(t, w.do(t.Context(), s.do, ref))
		}
		w.pass(s.pass)
		entries := w.readAll(t, ref, after)
		for _, entry := range entries {
			require.NotRegexp(t, s.not, entry.Message, "stage %d", i)
			if len(s.want) > 0 && regexp.MustCompile(s.want[0]).MatchString(entry.Message) {
				s.want = s.want[1:]
			}
			after = entry.Cursor
		}
		require.Empty(t, s.want, "stage %d: not seen in %v", i, entries)
	}
}

func TestJournalOfFaults(t *testing.T) {
	cases := []struct {
		name     string
		do       string
		priority guest.Priority
		want     string
		resumes  bool
	}{
		{"boot-crash", "", guest.PriorityCritical, "panic", false},
		{"stop-fails", "stop", guest.PriorityError, "shutdown given up", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(simulator.Options{})
			ref := w.create(t, c.name)
			w.pass(2 * time.Second)
			if c.do != "" {
				require.NoError(t, w.do(t.Context(), c.do, ref))
			}
			w.pass(time.Second)
			entries := w.readAll(t, ref, "")
			worst := entries[0]
			for _, entry := range entries {
				if entry.Priority < worst.Priority {
					worst = entry
				}
			}
			require.Equal(t, c.priority, worst.Priority)
			require.Contains(t, worst.Message, c.want)
			w.pass(time.Minute)
			require.Equal(t, c.resumes, len(w.readAll(t, ref, entries[len(entries)-1].Cursor)) > 0)
		})
	}
}

func TestStaleCursorGivesOneGap(t *testing.T) {
	w := newWorld(simulator.Options{})
	ref, other := w.running(t, "web"), w.running(t, "db")
	own, foreign := w.readAll(t, ref, ""), w.readAll(t, other, "")
	for name, cursor := range map[string]string{
		"foreign": foreign[0].Cursor, "garbage": "nonsense", "a suffix": own[0].Cursor + "0z",
		"a future": regexp.MustCompile(`i=0\.`).ReplaceAllString(own[0].Cursor, "i=7."),
		"negative": regexp.MustCompile(`i=0\.`).ReplaceAllString(own[0].Cursor, "i=-1."),
	} {
		t.Run(name, func(t *testing.T) {
			batch, err := w.ReadJournal(t.Context(), w.target(ref), guest.JournalRequest{After: cursor, Max: 2, Wait: time.Hour})
			require.NoError(t, err)
			require.NotNil(t, batch.Gap)
			require.Equal(t, cursor, batch.Gap.After)
			require.NotEmpty(t, batch.Gap.Reason)
			require.Equal(t, own[:2], batch.Entries, "from the oldest entry on")
			require.Equal(t, own[2:], w.readAll(t, ref, batch.Next), "and no gap after that")
		})
	}
}

func TestJournalLimits(t *testing.T) {
	w := newWorld(simulator.Options{})
	ref := w.running(t, "web")
	w.pass(30 * 24 * time.Hour)
	for limit, want := range map[int]int{1: 1, 7: 7, 0: guest.MaxJournalBatch, -1: guest.MaxJournalBatch, 1 << 30: guest.MaxJournalBatch} {
		batch, err := w.ReadJournal(t.Context(), w.target(ref), guest.JournalRequest{Max: limit})
		require.NoError(t, err)
		require.Len(t, batch.Entries, want)
		require.Equal(t, batch.Entries[want-1].Cursor, batch.Next)
	}
}

func TestLongPoll(t *testing.T) {
	t.Run("wakes for the next line", func(t *testing.T) {
		sim := simulator.New(simulator.NewMemoryStore(), simulator.Options{Now: hurried(20), PollInterval: time.Hour})
		w := newWorld(simulator.Options{})
		created, err := sim.Create(t.Context(), w.account, w.spec("web"))
		require.NoError(t, err)
		after := ""
		for range 12 {
			batch, err := sim.ReadJournal(t.Context(), w.target(created.Ref()), guest.JournalRequest{After: after, Max: 1, Wait: time.Minute})
			require.NoError(t, err)
			require.Len(t, batch.Entries, 1)
			after = batch.Next
		}
	})
	t.Run("sees what another process does", func(t *testing.T) {
		w := newWorld(simulator.Options{PollInterval: ms})
		ref := w.running(t, "web")
		require.NoError(t, w.Stop(t.Context(), w.account, ref))
		w.pass(time.Second)
		entries := w.readAll(t, ref, "")
		read := make(chan guest.JournalBatch, 1)
		go func() {
			batch, _ := w.ReadJournal(t.Context(), w.target(ref), guest.JournalRequest{After: entries[len(entries)-1].Cursor, Wait: time.Minute})
			read <- batch
		}()
		require.NoError(t, simulator.New(w.store, simulator.Options{Now: w.clock}).Start(t.Context(), w.account, ref))
		require.NotEmpty(t, (<-read).Entries)
	})
	t.Run("gives up in the end", func(t *testing.T) {
		w := newWorld(simulator.Options{})
		ref := w.running(t, "web")
		last := w.readAll(t, ref, "")
		after := last[len(last)-1].Cursor
		batch, err := w.ReadJournal(t.Context(), w.target(ref), guest.JournalRequest{After: after, Wait: ms})
		require.NoError(t, err)
		require.Equal(t, guest.JournalBatch{Next: after}, batch)
	})
	t.Run("hears its context", func(t *testing.T) {
		w := newWorld(simulator.Options{})
		ref := w.running(t, "web")
		last := w.readAll(t, ref, "")
		ctx, cancel := context.WithTimeout(t.Context(), 5*ms)
		defer cancel()
		_, err := w.ReadJournal(ctx, w.target(ref), guest.JournalRequest{After: last[len(last)-1].Cursor, Wait: time.Hour})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
	t.Run("ends when the machine is gone", func(t *testing.T) {
		w := newWorld(simulator.Options{PollInterval: ms})
		ref := w.running(t, "web")
		last := w.readAll(t, ref, "")
		failed := make(chan error, 1)
		go func() {
			_, err := w.ReadJournal(t.Context(), w.target(ref), guest.JournalRequest{After: last[len(last)-1].Cursor, Wait: time.Minute})
			failed <- err
		}()
		require.NoError(t, w.RemoveOutside(t.Context(), ref.InstanceID))
		require.ErrorIs(t, <-failed, guest.ErrUnreachable)
	})
}

func TestHeartbeat(t *testing.T) {
	for _, name := range []string{"web", "slow-boot"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(simulator.Options{})
			ref := w.create(t, name)
			w.pass(time.Minute)
			boot := w.readAll(t, ref, "")
			if name == "slow-boot" {
				require.Contains(t, boot[len(boot)-1].Message, "is up after 1m0s", "no heartbeat before the boot is over")
			}
			w.pass(12 * time.Second)
			beats := w.readAll(t, ref, boot[len(boot)-1].Cursor)
			require.GreaterOrEqual(t, len(beats), 2)
			require.Equal(t, 5*time.Second, beats[1].Time.Sub(beats[0].Time))
		})
	}
}
