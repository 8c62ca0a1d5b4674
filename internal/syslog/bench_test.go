package syslog

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// benchLines is what a busy follower brings in one batch.
const benchLines = 1000

func benchmarkLines() []Line {
	lines := numbered(0, benchLines)
	for i := range lines {
		lines[i].Source, lines[i].Unit = Journal, "docker.service"
		lines[i].Message = `level=info msg="request served" method=GET path=/api/v1/things status=200 duration=12.3ms bytes=4711`
	}
	return lines
}

func BenchmarkIngest(b *testing.B) {
	w := newWorld(b)
	fence := w.claim(b).Fence
	lines := benchmarkLines()
	for b.Loop() {
		require.NoError(b, w.Ingest(b.Context(), Batch{ProviderID: provider, Fence: fence, Lines: lines}))
	}
	b.ReportMetric(float64(b.N*benchLines)/b.Elapsed().Seconds(), "lines/s")
}

// BenchmarkBareCopy is what PostgreSQL takes without numbers, cursor, account and
// cleaning: the measure for BenchmarkIngest.
func BenchmarkBareCopy(b *testing.B) {
	w := newWorld(b)
	day, err := today(b.Context(), w.pool)
	require.NoError(b, err)
	lines, _ := cleaned(benchmarkLines(), time.Now())
	first := int64(1)
	for b.Loop() {
		require.NoError(b, pgx.BeginFunc(b.Context(), w.pool, func(tx pgx.Tx) error {
			return copyLines(b.Context(), tx, provider, lines, first, day)
		}))
		first += benchLines
	}
	b.ReportMetric(float64(b.N*benchLines)/b.Elapsed().Seconds(), "lines/s")
}

func BenchmarkClean(b *testing.B) {
	for name, text := range map[string]string{
		"plain":   benchmarkLines()[0].Message,
		"colored": "\x1b[32mINFO\x1b[0m request served \x1b[1mGET\x1b[0m /api/v1/things 200 12.3ms",
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				clean(text)
			}
		})
	}
}
