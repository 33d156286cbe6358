package api

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/go-playground/validator/v10"

	"plannerd/api/wire"
)

// rules checks what the contract cannot say of the small wire types.
var rules = newRules()

func newRules() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return name
	})
	must(v.RegisterValidation("printable", func(f validator.FieldLevel) bool {
		return !strings.ContainsFunc(f.Field().String(), func(r rune) bool { return !unicode.IsPrint(r) })
	}))
	v.RegisterStructValidationMapRules(map[string]string{"Instances": "unique=Id"}, wire.OperatorConfiguration{})
	v.RegisterStructValidationMapRules(map[string]string{
		"Actor":  "omitempty,printable",
		"Reason": "omitempty,printable",
	}, wire.Transition{}, wire.AckRequest{}, wire.AbortRequest{})
	v.RegisterStructValidationMapRules(map[string]string{
		"Executor": "printable",
		"Actor":    "omitempty,printable",
		"Reason":   "omitempty,printable",
	}, wire.StartRequest{})
	return v
}

// ruleTexts says in words what the tags mean.
var ruleTexts = map[string]string{
	"unique":    "must have distinct ids",
	"printable": "must consist of printable characters",
}

// checkRules reports every broken rule of v, which stands at prefix in the body.
func checkRules(v any, prefix string) error {
	err := rules.Struct(v)
	var broken validator.ValidationErrors
	if err == nil {
		return nil
	}
	if !errors.As(err, &broken) {
		return fmt.Errorf("checking the rules of %T: %w", v, err)
	}
	p := invalid()
	for _, b := range broken {
		_, path, _ := strings.Cut(b.Namespace(), ".")
		p.At(prefix+"/"+strings.ReplaceAll(path, ".", "/"), ruleTexts[b.Tag()])
	}
	return p
}
