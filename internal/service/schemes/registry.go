package schemes

import (
	"plannerd/internal/operator"
	"plannerd/internal/service/reading"
	"plannerd/internal/service/scheme"
	"plannerd/internal/service/scheme/layout"
	"plannerd/internal/service/scheme/table"
	"plannerd/store"
)

// Schemes are all there are, by their names.
var Schemes = map[operator.SchemeName]scheme.Scheme{
	operator.SchemeTable:  table.Scheme{},
	operator.SchemeRing:   layout.Ring,
	operator.SchemeRanges: layout.Ranges,
	operator.SchemePkg:    layout.Pkg,
}

// Named is the scheme of a name, which a configuration has checked.
func Named(name operator.SchemeName) scheme.Scheme { return Schemes[name] }

// Of is the scheme that a stored plan was made under.
func Of(p store.Plan) scheme.Scheme { return Schemes[reading.SchemeOf(p)] }

// MigratesOf is what the migrations of a stored plan are.
func MigratesOf(p store.Plan) scheme.Migrates { return Of(p).Migrates(p.Classes) }
