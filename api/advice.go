package api

import (
	"context"
	"net/http"
	"strconv"

	"plannerd/internal/service/foresight"
	"plannerd/internal/web/httpkit"
)

// advice answers how many instances an operator needs, and what it can hold.
func (s operators) advice(w http.ResponseWriter, c *call) error {
	in := foresight.AdviceRequest{Memory: c.memory}
	if text := c.Query.Get("instance_load"); text != "" {
		in.InstanceLoad, _ = strconv.ParseFloat(text, 64) // the contract has seen it
	}
	c.memory.Open() // as of an analysis
	var advice *foresight.Advice
	err := s.service.Analyse(c.Context(), "advice", func(ctx context.Context) (err error) {
		advice, err = s.service.Advise(ctx, c.param("operator"), in)
		return err
	})
	if err != nil {
		return err
	}
	return httpkit.WriteTaggedJSON(w, c.Request, advice)
}
