package client

import (
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// parameters reads the query out of a struct whose fields are tagged with the names of
// parameters. What is zero is left out; a pointer says that zero is meant.
func parameters(of any) (url.Values, error) {
	if of == nil {
		return nil, nil
	}
	query := url.Values{}
	v := reflect.ValueOf(of)
	for i := range v.NumField() {
		field, name := v.Field(i), v.Type().Field(i).Tag.Get("query")
		if field.IsZero() || field.Kind() == reflect.Slice && field.Len() == 0 {
			continue
		}
		text, err := parameter(reflect.Indirect(field))
		if err != nil {
			return nil, fmt.Errorf("client: parameter %s: %w", name, err)
		}
		query.Set(name, text)
	}
	return query, nil
}

func parameter(v reflect.Value) (string, error) {
	if d, ok := v.Interface().(time.Duration); ok {
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms", nil
	}
	switch v.Kind() {
	case reflect.String:
		return v.String(), nil
	case reflect.Bool:
		return strconv.FormatBool(v.Bool()), nil
	case reflect.Int, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10), nil
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64), nil
	case reflect.Slice:
		parts := make([]string, v.Len())
		for i := range parts {
			var err error
			if parts[i], err = parameter(v.Index(i)); err != nil {
				return "", err
			}
		}
		return strings.Join(parts, ","), nil
	default:
		return "", fmt.Errorf("of type %s cannot be written", v.Type())
	}
}
