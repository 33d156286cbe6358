package planning

import (
	"plannerd/internal/operator"
	"plannerd/internal/service/reading"
	"plannerd/store"
)

var schemes = map[operator.SchemeName]scheme{
	operator.SchemeTable:  tableScheme{},
	operator.SchemeRing:   layoutScheme{ringKind{}},
	operator.SchemeRanges: layoutScheme{rangesKind{}},
	operator.SchemePkg:    layoutScheme{pkgKind{}},
}

func schemeNamed(name operator.SchemeName) scheme { return schemes[name] }

func schemeOf(p store.Plan) scheme { return schemes[reading.SchemeOf(p)] }

// MigratesOf is what the migrations of a stored plan are.
func MigratesOf(p store.Plan) Migrates { return schemeOf(p).migrates(p.Classes) }
