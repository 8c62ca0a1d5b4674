package graphqlws_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/transport/graphqlws"
)

const (
	// pingInterval leaves a busy machine time to answer.
	pingInterval = 200 * time.Millisecond

	initGood = `{"type":"connection_init","payload":{"authorization":"Bearer good-ann"}}`
	feed     = `{"id":"1","type":"subscribe","payload":{"query":"subscription { feed }"}}`
)

func TestCloseCodes(t *testing.T) {
	s := start(t, simple(), graphqlws.Options{}, graphqlws.Caps{PerUser: 100})
	tests := map[string]struct {
		send []string
		code int
	}{
		"subscribe before init":       {[]string{feed}, 4401},
		"wrong token":                 {[]string{`{"type":"connection_init","payload":{"authorization":"Bearer bad"}}`}, 4403},
		"no token":                    {[]string{`{"type":"connection_init"}`}, 4403},
		"token without scheme":        {[]string{`{"type":"connection_init","payload":{"authorization":"good-ann"}}`}, 4403},
		"expired token":               {[]string{`{"type":"connection_init","payload":{"authorization":"Bearer good-past"}}`}, 4403},
		"token expires":               {[]string{`{"type":"connection_init","payload":{"authorization":"Bearer good-short"}}`}, 4403},
		"authenticator away":          {[]string{`{"type":"connection_init","payload":{"authorization":"Bearer unclear"}}`}, 1013},
		"init payload is a list":      {[]string{`{"type":"connection_init","payload":[]}`}, 4400},
		"second init":                 {[]string{initGood, initGood}, 4429},
		"not JSON":                    {[]string{`{`}, 4400},
		"a JSON list":                 {[]string{`[]`}, 4400},
		"null":                        {[]string{`null`}, 4400},
		"unknown type":                {[]string{`{"type":"start"}`}, 4400},
		"no type":                     {[]string{`{"id":"1"}`}, 4400},
		"id is a number":              {[]string{initGood, `{"id":1,"type":"subscribe","payload":{"query":"{hello}"}}`}, 4400},
		"subscribe without id":        {[]string{initGood, `{"type":"subscribe","payload":{"query":"{hello}"}}`}, 4400},
		"subscribe without payload":   {[]string{initGood, `{"id":"1","type":"subscribe"}`}, 4400},
		"subscribe without query":     {[]string{initGood, `{"id":"1","type":"subscribe","payload":{}}`}, 4400},
		"query is a number":           {[]string{initGood, `{"id":"1","type":"subscribe","payload":{"query":1}}`}, 4400},
		"variables are a list":        {[]string{initGood, `{"id":"1","type":"subscribe","payload":{"query":"{hello}","variables":[]}}`}, 4400},
		"complete without id":         {[]string{initGood, `{"type":"complete"}`}, 4400},
		"ping payload is a string":    {[]string{initGood, `{"type":"ping","payload":"x"}`}, 4400},
		"pong payload is a number":    {[]string{initGood, `{"type":"pong","payload":1}`}, 4400},
		"duplicate id":                {[]string{initGood, feed, feed}, 4409},
		"message over the read limit": {[]string{`{"type":"ping","payload":{"x":"` + strings.Repeat("x", 256<<10) + `"}}`}, 1009},
		"duplicate of an absurdly long id": {[]string{initGood,
			strings.Replace(feed, `"1"`, `"`+strings.Repeat("ü", 1000)+`"`, 1),
			strings.Replace(feed, `"1"`, `"`+strings.Repeat("ü", 1000)+`"`, 1)}, 4409},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := s.dial(t, graphqlws.Subprotocol)
			for _, text := range test.send {
				c.send(text)
			}
			c.expectClose(test.code)
		})
	}
	t.Run("binary frame", func(t *testing.T) {
		c := s.dial(t, graphqlws.Subprotocol)
		require.NoError(t, c.ws.WriteMessage(websocket.BinaryMessage, []byte(initGood)))
		c.expectClose(4400)
	})
	t.Run("invalid UTF-8", func(t *testing.T) {
		c := s.dial(t, graphqlws.Subprotocol)
		c.send("{\"type\":\"ping\",\"payload\":{\"x\":\"\xff\"}}")
		c.expectClose(1007)
	})
	t.Run("no init in time", func(t *testing.T) {
		hasty := start(t, simple(), graphqlws.Options{InitTimeout: 50 * time.Millisecond}, graphqlws.Caps{})
		hasty.dial(t, graphqlws.Subprotocol).expectClose(4408)
	})
	t.Run("no subprotocol", func(t *testing.T) { s.dial(t).expectClose(4406) })
	t.Run("the older subprotocol", func(t *testing.T) { s.dial(t, "graphql-ws").expectClose(4406) })
}

func TestHandshakeRefusals(t *testing.T) {
	s := start(t, simple(), graphqlws.Options{Origins: func(origin string) bool { return origin == "https://ours.test" }}, graphqlws.Caps{})
	tests := map[string]struct {
		header http.Header
		status int
	}{
		"no Origin is no browser": {http.Header{}, http.StatusSwitchingProtocols},
		"allowed Origin":          {http.Header{"Origin": {"https://ours.test"}}, http.StatusSwitchingProtocols},
		"foreign Origin":          {http.Header{"Origin": {"https://evil.test"}}, http.StatusForbidden},
		"opaque Origin":           {http.Header{"Origin": {"null"}}, http.StatusForbidden},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ws, resp, err := websocket.DefaultDialer.Dial(s.url, test.header)
			require.NotNil(t, resp, "%v", err)
			require.Equal(t, test.status, resp.StatusCode)
			if err == nil {
				require.NoError(t, ws.Close())
				return
			}
			var body struct {
				Errors []struct{ Extensions struct{ Code string } }
			}
			require.NoError(t, json.NewDecoder(resp.Body).Decode(&body))
			require.Equal(t, "FORBIDDEN", body.Errors[0].Extensions.Code)
		})
	}
}

func TestPingIsAnsweredWithItsPayload(t *testing.T) {
	s := start(t, simple(), graphqlws.Options{}, graphqlws.Caps{})
	c := s.dial(t, graphqlws.Subprotocol)
	c.send(`{"type":"ping","payload":{"n":1}}`)
	c.expect("pong", "", `{"n":1}`)
	c.send(`{"type":"ping","payload":null}`)
	m := c.read()
	require.Equal(t, "pong", m.Type)
	require.Empty(t, m.Payload)
}

func TestPongsKeepAConnectionAlive(t *testing.T) {
	s := start(t, simple(), graphqlws.Options{PingInterval: pingInterval}, graphqlws.Caps{})
	c := s.connect(t, "ann")
	for range 6 {
		c.expect("ping", "", "")
		c.send(`{"type":"pong"}`)
	}
	require.Equal(t, 1, s.registry.Stats().Connections)
}

func TestASilentPeerIsClosed(t *testing.T) {
	s := start(t, simple(), graphqlws.Options{PingInterval: 20 * time.Millisecond}, graphqlws.Caps{})
	c := s.connect(t, "ann")
	c.subscribe("1", `subscription { feed }`)
	c.expectClose(4499)
	eventually(t, s.idle)
}

func TestControlFramesAreASignOfLife(t *testing.T) {
	s := start(t, simple(), graphqlws.Options{PingInterval: pingInterval}, graphqlws.Caps{})
	c := s.connect(t, "ann")
	pongs := 0
	c.ws.SetPongHandler(func(string) error { pongs++; return nil })
	for range 6 {
		c.expect("ping", "", "")
		require.NoError(t, c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(patience)))
	}
	require.Positive(t, pongs)
}
