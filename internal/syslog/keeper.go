package syslog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// maintainEvery is the time between two looks at the partitions, trimEvery
	// between two at the bytes: a busy log can grow by its limit in an hour.
	maintainEvery = time.Hour
	trimEvery     = time.Minute
)

// Limits say how much of a log is kept.
type Limits struct {
	// RetentionDays is how many whole days are kept beside the present one.
	RetentionDays int
	// MaxBytes is how large the log of one provider may be.
	MaxBytes int64
}

// Keeper makes the partitions of the days to come and drops what is over the
// limits. Every server may run one: they do not get into each other's way.
type Keeper struct {
	pool   *pgxpool.Pool
	limits Limits
	log    *slog.Logger

	mu      sync.Mutex // guards stop
	stop    context.CancelFunc
	running sync.WaitGroup
}

// NewKeeper makes a keeper. Both limits must be positive.
func NewKeeper(pool *pgxpool.Pool, limits Limits, log *slog.Logger) (*Keeper, error) {
	if limits.RetentionDays < 1 || limits.MaxBytes < 1 {
		return nil, fmt.Errorf("log limits must be positive: %d days, %d bytes", limits.RetentionDays, limits.MaxBytes)
	}
	return &Keeper{pool: pool, limits: limits, log: log}, nil
}

// Start makes the partitions that today needs, without which no line can be
// stored, and begins to keep the limits. The context gives values and bounds the
// start; Stop ends the work.
func (k *Keeper) Start(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stop != nil {
		return errors.New("log keeper: already started")
	}
	if err := k.create(ctx); err != nil {
		return err
	}
	ctx, k.stop = context.WithCancel(context.WithoutCancel(ctx))
	k.running.Go(func() { k.run(ctx) })
	return nil
}

// Stop ends the work and waits for it as long as the context allows. What it
// interrupts is taken up by the next run.
func (k *Keeper) Stop(ctx context.Context) error {
	k.mu.Lock()
	if k.stop != nil {
		k.stop()
	}
	k.mu.Unlock()
	stopped := make(chan struct{})
	go func() {
		k.running.Wait()
		close(stopped)
	}()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("log keeper: still running: %w", ctx.Err())
	}
}

func (k *Keeper) run(ctx context.Context) {
	hourly, minutely := time.NewTicker(maintainEvery), time.NewTicker(trimEvery)
	defer hourly.Stop()
	defer minutely.Stop()
	work := k.Maintain
	for {
		if err := work(ctx); err != nil && ctx.Err() == nil {
			k.log.ErrorContext(ctx, "keep logs within their limits", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return
		case <-hourly.C:
			work = k.Maintain
		case <-minutely.C:
			work = k.trim
		}
	}
}

// Maintain makes the partitions for today and the week after, drops the days
// that are too old, and trims the logs that are too large.
func (k *Keeper) Maintain(ctx context.Context) error {
	return errors.Join(k.create(ctx), k.retain(ctx), k.trim(ctx))
}

func (k *Keeper) create(ctx context.Context) error {
	day, err := today(ctx, k.pool)
	if err == nil {
		err = createPartitions(ctx, k.pool, day)
	}
	if err != nil {
		return fmt.Errorf("make log partitions: %w", err)
	}
	return nil
}

func (k *Keeper) retain(ctx context.Context) error {
	day, err := today(ctx, k.pool)
	if err == nil {
		err = dropPartitions(ctx, k.pool, day.AddDate(0, 0, -k.limits.RetentionDays))
	}
	if err != nil {
		return fmt.Errorf("drop old log partitions: %w", err)
	}
	return nil
}

func (k *Keeper) trim(ctx context.Context) error {
	if err := trim(ctx, k.pool, k.limits.MaxBytes); err != nil {
		return fmt.Errorf("trim large logs: %w", err)
	}
	return nil
}
