package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hibiken/asynq"
	"golang.org/x/time/rate"

	"biztraak.dev/vm/internal/ident"
	"biztraak.dev/vm/internal/operation"
)

const (
	queueUrgent = "urgent"
	queueWork   = "work"
	taskType    = "operation"

	// The queue must never end or repeat work by itself: its timeout is longer
	// than any chain of steps, and a repeated delivery is not current any more.
	taskTimeout   = time.Hour
	taskMaxRetry  = 1
	checkInterval = 200 * time.Millisecond
	stopTimeout   = 8 * time.Second
)

// payload is all that a task carries.
type payload struct {
	ID      ident.ID `json:"id"`
	Attempt int      `json:"attempt"`
}

// enqueue makes a delivery. One that is in the queue already is a success.
func (w *Worker) enqueue(ctx context.Context, d operation.Delivery) error {
	body, err := json.Marshal(payload{ID: d.ID, Attempt: d.Attempt})
	if err != nil {
		return fmt.Errorf("enqueue operation: %w", err)
	}
	queue := queueWork
	if d.Urgent {
		queue = queueUrgent
	}
	_, err = w.client.EnqueueContext(ctx, asynq.NewTask(taskType, body),
		asynq.TaskID(fmt.Sprintf("op:%s:%d", d.ID, d.Attempt)), asynq.Queue(queue),
		asynq.MaxRetry(taskMaxRetry), asynq.Timeout(taskTimeout), asynq.Retention(0))
	if errors.Is(err, asynq.ErrTaskIDConflict) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("enqueue operation: %w", err)
	}
	return nil
}

// handle carries out a delivery under the worker's session. The queue's own
// context is left aside: it ends when the queue is in trouble, which is no
// reason to stop work that Postgres has leased to us. The outcome is in the row,
// so the queue has nothing to retry.
func (w *Worker) handle(_ context.Context, t *asynq.Task) error {
	var p payload
	if err := json.Unmarshal(t.Payload(), &p); err != nil {
		w.deps.Log.Error("a task that is none of ours", "error", err)
		return nil
	}
	s := w.sessions.current()
	w.deps.Engine.Run(s.ctx, s.id, p.ID, p.Attempt)
	return nil
}

func newTaskServer(redis asynq.RedisConnOpt, queue string, size int, log *slog.Logger) *asynq.Server {
	return asynq.NewServer(redis, asynq.Config{
		Concurrency: size, Queues: map[string]int{queue: 1}, TaskCheckInterval: checkInterval,
		ShutdownTimeout: stopTimeout, LogLevel: asynq.WarnLevel,
		Logger: &queueLog{log: log.With("queue", queue), sometimes: rate.Sometimes{Interval: time.Minute}},
	})
}

// queueLog passes on what the queue says, at most once a minute: while Redis is
// away it says the same several times a second.
type queueLog struct {
	log       *slog.Logger
	sometimes rate.Sometimes
}

func (q *queueLog) say(args []any) {
	q.sometimes.Do(func() { q.log.Warn("task queue: " + fmt.Sprint(args...)) })
}

// Debug implements asynq.Logger; it says nothing.
func (q *queueLog) Debug(...any) {}

// Info implements asynq.Logger; it says nothing.
func (q *queueLog) Info(...any) {}

// Warn implements asynq.Logger.
func (q *queueLog) Warn(args ...any) { q.say(args) }

// Error implements asynq.Logger.
func (q *queueLog) Error(args ...any) { q.say(args) }

// Fatal implements asynq.Logger. It does not end the process: that is the app's
// to decide.
func (q *queueLog) Fatal(args ...any) { q.say(args) }
