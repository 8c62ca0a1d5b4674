package guest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/guest"
)

func TestJournalRequestLimit(t *testing.T) {
	for max, want := range map[int]int{
		-1: guest.MaxJournalBatch, 0: guest.MaxJournalBatch, 1: 1, 10: 10,
		guest.MaxJournalBatch: guest.MaxJournalBatch, guest.MaxJournalBatch + 1: guest.MaxJournalBatch,
	} {
		require.Equal(t, want, guest.JournalRequest{Max: max}.Limit(), "max %d", max)
	}
}
