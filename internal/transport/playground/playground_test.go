package playground_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/transport/playground"
)

func get(t *testing.T, path string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	h, err := playground.New(playground.Config{
		Token:    "dev-token",
		Examples: []playground.Example{{Name: "Viewer", Query: "{ viewer { id } }", Variables: map[string]any{"a": 1}}},
	})
	require.NoError(t, err)
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header = header
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestFiles(t *testing.T) {
	tests := map[string]struct {
		status      int
		contentType string
	}{
		"/":                         {200, "text/html"},
		"/playground/app.js":        {200, "javascript"},
		"/playground/style.css":     {200, "text/css"},
		"/playground/config.json":   {200, "application/json"},
		"/playground/":              {404, ""},
		"/playground/nowhere":       {404, ""},
		"/playground/../go.mod":     {404, ""},
		"/playground/../../doc.go":  {404, ""},
		"/playground/playground.go": {404, ""},
	}
	for path, test := range tests {
		t.Run(path, func(t *testing.T) {
			w := get(t, path, http.Header{})
			require.Equal(t, test.status, w.Code)
			require.Contains(t, w.Header().Get("Content-Type"), test.contentType)
			require.Contains(t, w.Header().Get("Content-Security-Policy"), "script-src 'self'")
		})
	}
}

func TestThePageNeedsNoOtherServerAndNoInlineScript(t *testing.T) {
	page := get(t, "/", http.Header{}).Body.String()
	for _, file := range []string{page, get(t, "/playground/app.js", http.Header{}).Body.String(), get(t, "/playground/style.css", http.Header{}).Body.String()} {
		require.NotRegexp(t, `https?://`, file)
	}
	require.NotRegexp(t, regexp.MustCompile(`(?i)<script(?:\s[^>]*)?>\s*[^<\s]|\son\w+=|\sstyle=|<style`), page)
}

func TestConfigIsForThePageOnly(t *testing.T) {
	for site, status := range map[string]int{"": 200, "same-origin": 200, "none": 200, "same-site": 403, "cross-site": 403} {
		w := get(t, "/playground/config.json", http.Header{"Sec-Fetch-Site": {site}})
		require.Equal(t, status, w.Code, site)
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		if status == http.StatusOK {
			require.JSONEq(t, `{"endpoint":"/graphql","token":"dev-token","examples":[
				{"name":"Viewer","description":"","query":"{ viewer { id } }","variables":{"a":1}}]}`, w.Body.String())
		} else {
			require.NotContains(t, w.Body.String(), "dev-token")
		}
	}
}

func TestVariablesThatAreNoJSON(t *testing.T) {
	_, err := playground.New(playground.Config{Examples: []playground.Example{{Variables: map[string]any{"f": func() {}}}}})
	require.Error(t, err)
}
