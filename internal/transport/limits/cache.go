package limits

import (
	"context"
	"math"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/vektah/gqlparser/v2/ast"
)

// cacheBytes is how many bytes of document text are kept, parsed. A parsed
// document takes up to about a hundred times its text, so a cache limited by
// the number of documents could be blown up by a few large ones.
const cacheBytes = 512 << 10

// documentCache keeps parsed and validated documents, the least recently used
// leave first. It is safe for concurrent use.
type documentCache struct {
	mu    sync.Mutex
	lru   *simplelru.LRU[string, *ast.QueryDocument]
	bytes int
	max   int
}

var _ graphql.Cache[*ast.QueryDocument] = (*documentCache)(nil)

func newDocumentCache(max int) *documentCache {
	c := &documentCache{max: max}
	// The only error is that of a size below 1; the size that counts is in bytes.
	c.lru, _ = simplelru.NewLRU(math.MaxInt, func(query string, _ *ast.QueryDocument) { c.bytes -= len(query) })
	return c
}

// Get finds the document of a text.
func (c *documentCache) Get(_ context.Context, query string) (*ast.QueryDocument, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lru.Get(query)
}

// Add keeps a document, unless it would take more than a sixteenth of the cache.
func (c *documentCache) Add(_ context.Context, query string, doc *ast.QueryDocument) {
	if len(query) > c.max/16 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lru.Contains(query) {
		return
	}
	c.lru.Add(query, doc)
	for c.bytes += len(query); c.bytes > c.max; {
		c.lru.RemoveOldest()
	}
}
