package e2e_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"biztraak.dev/vm/internal/app"
)

// TestSecretsStayInside lets the system work with secrets and then looks for
// them wherever anything is kept or shown.
func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	const sentinel = "sentinel-3f9a1c-do-not-tell"
	e := newEstate(t, app.Roles{Serve: true, Work: true})
	made := e.must(e.owner.bearer, `mutation($t: ID!, $s: String!) {
		connectCloudAccount(input: { teamId: $t, name: "Vault", idempotencyKey: "k", simulator: { token: $s } }) {
			cloudAccount { id } userErrors { code message } }
		createAccessToken(input: { name: "Robot", ceiling: OWNER, idempotencyKey: "k" }) { secret userErrors { code message } } }`,
		object{"t": e.team, "s": sentinel})
	e.account = text(t, made, "connectCloudAccount", "cloudAccount", "id")
	bearer := text(t, made, "createAccessToken", "secret")
	e.owner.bearer = bearer
	project := e.project(e.owner, e.team)
	vm := e.vm(e.owner, project)
	_, operation := e.queued(vm)
	_, broken := e.queued(e.vmNamed(e.owner, project, "a-boot-crash"))
	feed := e.subscribe(e.dial(bearer), followEvents, object{"p": project})
	feed.next()
	e.awaitEnd(operation, broken)

	seen := map[string]string{
		"the API": e.wholeSchema(project), "the logs": e.logs.String(), "Redis": e.wholeRedis(), "the database": e.wholeDatabase(),
	}
	require.Contains(t, seen["the API"], "Vault", "the account is looked at")
	require.Contains(t, seen["the database"], "Vault")
	require.Contains(t, seen["the logs"], "level")
	require.Contains(t, seen["Redis"], "asynq")
	for where, what := range seen {
		for _, secret := range []string{sentinel, bearer, strings.TrimPrefix(bearer, "bzt_")} {
			for form, written := range map[string]string{
				"plain": secret, "hex": hex.EncodeToString([]byte(secret)),
				"base64": base64.RawStdEncoding.EncodeToString([]byte(secret)),
			} {
				require.NotContains(t, what, written, "a secret is in %s, %s", where, form)
			}
		}
	}
}

// wholeSchema reads every query as the owner, and all that a project tells.
func (e *estate) wholeSchema(project string) string {
	e.t.Helper()
	docs, fixtures := loadDocuments(e.t), fixtures()
	var all strings.Builder
	for _, r := range docs.roots() {
		if r.operation != "query" {
			continue
		}
		a := e.call(e.owner.bearer, docs.operation(r, levels), fixtures[r.String()].variables(e))
		require.Empty(e.t, a.Errors, "%s: %s", r, a.body)
		all.WriteString(a.body)
	}
	fmt.Fprint(&all, e.must(e.owner.bearer, `query($t: ID!, $p: ID!) {
		team(id: $t) { cloudAccounts(last: 100) { nodes { id name kind simulated version } } }
		project(id: $p) {
			operations(first: 50) { nodes { kind status error { message } steps { name detail } } }
			events(first: 100) { nodes { kind seq } }
			virtualMachines(first: 5) { nodes { providers { address lastError { message } systemLogs(first: 100) { nodes { message } } } } } } }`,
		object{"t": e.team, "p": project}))
	return all.String()
}

// wholeRedis reads every key.
func (e *estate) wholeRedis() string {
	e.t.Helper()
	opt, err := redis.ParseURL(e.redis)
	require.NoError(e.t, err)
	c := redis.NewClient(opt)
	defer c.Close() //nolint:errcheck // it is only read
	keys, err := c.Keys(e.ctx, "*").Result()
	require.NoError(e.t, err)
	var all strings.Builder
	for _, k := range keys {
		kind, err := c.Type(e.ctx, k).Result()
		require.NoError(e.t, err)
		var v any
		switch kind {
		case "string":
			v = c.Get(e.ctx, k).Val()
		case "hash":
			v = c.HGetAll(e.ctx, k).Val()
		case "list":
			v = c.LRange(e.ctx, k, 0, -1).Val()
		case "set":
			v = c.SMembers(e.ctx, k).Val()
		case "zset":
			v = c.ZRange(e.ctx, k, 0, -1).Val()
		case "stream":
			v = c.XRange(e.ctx, k, "-", "+").Val()
		case "none": // it has expired meanwhile
		default:
			e.t.Fatalf("the key %s is of the kind %s, which this test cannot read", k, kind)
		}
		fmt.Fprintf(&all, "%s %s %v\n", k, kind, v)
	}
	return all.String()
}

// wholeDatabase reads every row of every table as text; bytes are in hex.
func (e *estate) wholeDatabase() string {
	e.t.Helper()
	var all strings.Builder
	for table := range e.rows() {
		rows := value[*string](e.installation, `SELECT string_agg(to_jsonb(x)::text, E'\n') FROM `+table+` x`)
		if rows != nil {
			all.WriteString(table + "\n" + *rows + "\n")
		}
	}
	return all.String()
}
