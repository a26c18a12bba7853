package archive

import "iter"

// Sorted exports sorted, with a small limit of rows in memory.
func Sorted[T any](rows iter.Seq2[T, error], compare func(a, b *T) int, most int) iter.Seq2[T, error] {
	return sorted(rows, compare, most)
}
