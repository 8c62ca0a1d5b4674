package catalog

import "sync"

// memo keeps values that never change. When it is full it forgets all of them,
// which costs one reading anew: that is rarer and simpler than choosing.
type memo[K comparable, V any] struct {
	mu   sync.Mutex
	most int
	kept map[K]V
}

func newMemo[K comparable, V any](most int) *memo[K, V] {
	return &memo[K, V]{most: most, kept: map[K]V{}}
}

func (m *memo[K, V]) get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.kept[key]
	return v, ok
}

func (m *memo[K, V]) put(key K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.kept) >= m.most {
		clear(m.kept)
	}
	m.kept[key] = v
}
