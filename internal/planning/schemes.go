package planning

import (
	"plannerd/internal/operator"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/service/scheme/layout"
	"plannerd/internal/service/scheme/table"
	"plannerd/store"
)

var schemes = map[operator.SchemeName]scheme.Scheme{
	operator.SchemeTable:  table.Scheme{},
	operator.SchemeRing:   layout.Ring,
	operator.SchemeRanges: layout.Ranges,
	operator.SchemePkg:    layout.Pkg,
}

func schemeNamed(name operator.SchemeName) scheme.Scheme { return schemes[name] }

func schemeOf(p store.Plan) scheme.Scheme { return schemes[reading.SchemeOf(p)] }

// MigratesOf is what the migrations of a stored plan are.
func MigratesOf(p store.Plan) scheme.Migrates { return schemeOf(p).Migrates(p.Classes) }
