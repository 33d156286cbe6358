package api

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"plannerd/internal/operator"
	"plannerd/internal/parameters"
	"plannerd/internal/web/contract"
	"plannerd/internal/web/httpkit"
)

// readConfiguration reads a configuration that is within the contract, and checks what
// the contract cannot say. prefix is its JSON pointer in the body, hash the default of
// its hash function, longest the greatest deadline. known are the names of instances that the
// operator has ever had.
func readConfiguration(
	text jsontext.Value, prefix, hash string, longest time.Duration, known operator.InstanceNames,
) (operator.Configuration, error) {
	text, err := operator.Identify(text, known)
	if input := parameters.InputError(err); input != nil {
		return operator.Configuration{}, httpkit.Invalid().With(prefix+"/"+input.Field, input.Detail)
	}
	c, err := operator.ParseConfiguration(text, hash)
	if err != nil {
		return c, contract.JSONProblem(err, prefix)
	}
	if err := checkScheme(text, c.Scheme, prefix); err != nil {
		return c, err
	}
	if err = c.CheckDeadline(longest); err == nil {
		c, err = operator.NewConfiguration(c)
	}
	if input := parameters.InputError(err); input != nil {
		err = httpkit.Invalid().With(prefix+"/"+input.Field, input.Detail)
	}
	return c, err
}

// checkScheme refuses what means nothing under the scheme of a configuration.
func checkScheme(text jsontext.Value, scheme operator.SchemeName, prefix string) error {
	var said map[string]jsontext.Value
	if err := json.Unmarshal(text, &said); err != nil {
		return contract.JSONProblem(err, prefix)
	}
	bad := httpkit.Invalid()
	refuse := func(name string) {
		if value, ok := said[name]; ok && value.Kind() != 'n' {
			bad.At(prefix+"/"+name, "means nothing under the scheme "+string(scheme))
			delete(said, name) // an object is refused once
		}
	}
	for _, p := range parameters.All() {
		if !p.KnownTo(string(scheme)) {
			name, _, _ := strings.Cut(p.Name, "/")
			refuse(name)
		}
	}
	if scheme != operator.SchemeTable {
		refuse("strategy")
		refuse("table_owner")
		refuse("entry_grace")
		refuse("balance_worth")
		refuse("window")
		refuse("batches")
		refuse("transfer_rate")
	}
	if scheme == operator.SchemeRanges || scheme == operator.SchemePkg {
		refuse("hash")
	}
	return bad.OrNil()
}
