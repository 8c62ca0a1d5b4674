package operation_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/fault"
	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
)

func (w *world) request(key *string, input any) operation.Request {
	return operation.Request{Scope: w.team, ActorID: w.who.UserID, Mutation: "makeThing", Key: key, Input: input}
}

// call claims the key and, the first time, makes the thing.
func (w *world) call(r operation.Request, thing ident.ID) (*operation.Replay, error) {
	var replay *operation.Replay
	err := w.writer.Write(w.t.Context(), func(tx *operation.Tx) error {
		var err error
		if replay, err = tx.Once(r); err != nil || replay != nil {
			return err
		}
		return tx.Remember(r, "op_of_"+thing, thing)
	})
	return replay, err
}

func TestOnce(t *testing.T) {
	w := newWorld(t)
	type input struct{ Name string }
	first := w.request(ptr("k"), input{"a"})
	replay, err := w.call(first, "one")
	require.NoError(t, err)
	require.Nil(t, replay)

	change := func(f func(r *operation.Request)) operation.Request {
		r := first
		f(&r)
		return r
	}
	for _, c := range []struct {
		name    string
		request operation.Request
		want    *operation.Replay
		code    fault.Code
	}{
		{name: "the same call", request: first, want: &operation.Replay{ObjectIDs: []ident.ID{"one"}, OperationID: "op_of_one"}},
		{name: "another input", request: change(func(r *operation.Request) { r.Input = input{"b"} }), code: fault.IdempotencyReused},
		{name: "another key", request: change(func(r *operation.Request) { r.Key = ptr("K") })},
		{name: "another actor", request: change(func(r *operation.Request) { r.ActorID = "usr_other" })},
		{name: "another mutation", request: change(func(r *operation.Request) { r.Mutation = "breakThing" })},
		{name: "another team", request: change(func(r *operation.Request) { r.Scope = "team_other" })},
		{name: "no key", request: change(func(r *operation.Request) { r.Key = nil })},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := w.call(c.request, "two")
			if c.code != "" {
				refused(t, err, c.code)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestAFailedFirstCallLeavesTheKeyFree(t *testing.T) {
	w := newWorld(t)
	r, broken := w.request(ptr("k"), 1), errors.New("broken")
	err := w.writer.Write(t.Context(), func(tx *operation.Tx) error {
		_, err := tx.Once(r)
		require.NoError(t, err)
		return broken
	})
	require.ErrorIs(t, err, broken)
	replay, err := w.call(w.request(ptr("k"), 2), "two")
	require.NoError(t, err)
	require.Nil(t, replay)
}

func TestFiftyTwinsAreOneCall(t *testing.T) {
	w := newWorld(t)
	r := w.request(ptr("k"), 1)
	var made atomic.Int32
	var calls sync.WaitGroup
	outcomes := make(chan string, 50)
	for range 50 {
		calls.Go(func() {
			thing := ident.New(ident.VM)
			replay, err := w.call(r, thing)
			switch {
			case err != nil:
				outcomes <- err.Error()
			case replay == nil:
				made.Add(1)
				outcomes <- string(thing)
			default:
				outcomes <- string(replay.ObjectIDs[0])
			}
		})
	}
	calls.Wait()
	close(outcomes)
	require.EqualValues(t, 1, made.Load())
	first := <-outcomes
	require.True(t, strings.HasPrefix(first, "vm_"), first)
	for o := range outcomes {
		require.Equal(t, first, o)
	}
}

func TestAKeyEndsAfterADay(t *testing.T) {
	w := newWorld(t)
	_, err := w.call(w.request(ptr("k"), 1), "one")
	require.NoError(t, err)
	w.later(operation.KeyLifetime - time.Minute)
	require.NoError(t, w.writer.Forget(t.Context()))
	_, err = w.call(w.request(ptr("k"), 2), "two")
	refused(t, err, fault.IdempotencyReused)
	w.later(2 * time.Minute)
	replay, err := w.call(w.request(ptr("k"), 2), "two")
	require.NoError(t, err)
	require.Nil(t, replay)
	w.later(operation.KeyLifetime + time.Minute)
	require.NoError(t, w.writer.Forget(t.Context()))
	require.Zero(t, query[int](w, "SELECT count(*) FROM idempotency_key"))
}

func TestCheckKey(t *testing.T) {
	for name, c := range map[string]struct {
		key *string
		ok  bool
	}{
		"none":                  {nil, true},
		"a UUID":                {ptr("0192f1c8-6f6e-7a52-9a63-0d1d1b7a3f55"), true},
		"a hundred characters":  {ptr(strings.Repeat("ä", 100)), true},
		"empty":                 {ptr(""), false},
		"one character more":    {ptr(strings.Repeat("ä", 101)), false},
		"a line break":          {ptr("a\nb"), false},
		"not UTF-8":             {ptr("\xff"), false},
		"a NUL, as no text has": {ptr("a\x00"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.ok {
				require.Empty(t, operation.CheckKey(c.key))
				return
			}
			refused(t, operation.CheckKey(c.key).Err(), fault.InputInvalid)
		})
	}
}
