package devstack

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestInProcessRedis(t *testing.T) {
	server, err := StartRedis(t.Context())
	require.NoError(t, err)
	opts, err := redis.ParseURL(server.URL())
	require.NoError(t, err)
	client := redis.NewClient(opts)
	defer func() { require.NoError(t, client.Close()) }()

	require.NoError(t, client.Set(t.Context(), "short", "1", 300*time.Millisecond).Err())
	require.NoError(t, client.Set(t.Context(), "long", "1", time.Hour).Err())
	require.Eventually(t, func() bool { return client.Exists(t.Context(), "short").Val() == 0 },
		5*time.Second, 20*time.Millisecond, "a key outlives its TTL")
	require.EqualValues(t, 1, client.Exists(t.Context(), "long").Val())
	require.InDelta(t, time.Hour, client.TTL(t.Context(), "long").Val(), float64(time.Minute))

	stranger := redis.NewClient(&redis.Options{Addr: opts.Addr, MaxRetries: -1})
	defer func() { require.NoError(t, stranger.Close()) }()
	require.ErrorContains(t, stranger.Get(t.Context(), "long").Err(), "NOAUTH", "no password, no answer")

	for range 2 {
		require.NoError(t, server.Stop(context.Background()))
	}
	require.Error(t, stranger.Ping(t.Context()).Err())
}
