package wire

import (
	"encoding/json"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// IsRefusal tells that resp answers a request that was not executed: it has
// errors and no `data` at all. `data: null` is the result of an execution.
func IsRefusal(resp *graphql.Response) bool {
	return len(resp.Data) == 0 && len(resp.Errors) > 0
}

// AppendResponse appends the JSON of resp to dst. The data, which the executor
// has encoded already, is copied as it is: the standard encoder would parse and
// compact it a second time, which costs more than all the rest. A refusal has
// no `data` key and is bounded (see Bound).
func AppendResponse(dst []byte, resp *graphql.Response) ([]byte, error) {
	dst = append(dst, '{')
	list := resp.Errors
	if IsRefusal(resp) {
		list = Bound(list)
	}
	if len(list) > 0 {
		errs, err := AppendErrors(append(dst, `"errors":`...), list)
		if err != nil {
			return nil, err
		}
		dst = errs
	}
	if !IsRefusal(resp) {
		if len(list) > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `"data":`...)
		if len(resp.Data) == 0 {
			dst = append(dst, "null"...)
		}
		dst = append(dst, resp.Data...)
	}
	if len(resp.Extensions) > 0 {
		extensions, err := json.Marshal(resp.Extensions)
		if err != nil {
			return nil, err
		}
		dst = append(append(dst, `,"extensions":`...), extensions...)
	}
	return append(dst, '}'), nil
}

// AppendErrors appends the JSON list of errs to dst, unbounded.
func AppendErrors(dst []byte, errs gqlerror.List) ([]byte, error) {
	encoded, err := json.Marshal(errs)
	if err != nil {
		return nil, err
	}
	return append(dst, encoded...), nil
}
