package lists

import (
	"iter"
)

func listOf[R Record](s iter.Seq[R]) Records[R] { return Records[R](s) }
