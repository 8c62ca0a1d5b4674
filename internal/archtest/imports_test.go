package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "biztraak.dev/vm/"

// pkg is a package with all that its files import, whatever they are built for.
// Test files count for nothing here: a test of the whole system may import
// anything.
type pkg struct {
	ImportPath string
	Imports    []string
}

// packages reads the source by itself: what another program reads, the test
// cache would not know of, and a change elsewhere would go unseen.
func packages(t *testing.T) []pkg {
	t.Helper()
	const root = "../.."
	byDir := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), root+string(filepath.Separator)))
		byDir[dir] = append(byDir[dir], importsOf(file)...)
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, len(byDir), 20, "this is not the module's root")
	var all []pkg
	for dir, imports := range byDir {
		all = append(all, pkg{ImportPath: module + dir, Imports: imports})
	}
	return all
}

func importsOf(file *ast.File) []string {
	var out []string
	for _, i := range file.Imports {
		out = append(out, strings.Trim(i.Path.Value, `"`))
	}
	return out
}

// domains, in the order in which each may import those before it.
var domains = []string{
	"internal/team", "internal/project", "internal/catalog", "internal/vm", "internal/workload", "internal/marketplace",
}

// leaves may be imported by everybody.
var leaves = []string{"internal/ident", "internal/page", "internal/fault", "internal/names"}

// rooms says for each room which rooms it may import. A room is a folder with
// all below it, unless a deeper one is listed. What is not listed may import
// anything but what nobody may.
func rooms() map[string][]string {
	with := func(more ...string) []string { return append(slices.Clone(leaves), more...) }
	base := []string{"internal/store", "internal/operation", "internal/auth"}
	r := map[string][]string{
		"internal/ident":               {},
		"internal/fault":               {"internal/ident"},
		"internal/page":                {},
		"internal/names":               {"internal/fault"},
		"internal/config":              {},
		"migrations":                   {},
		"schema":                       {},
		"internal/store":               with("migrations", "internal/provider/simulator"),
		"internal/auth":                with("internal/store"),
		"internal/seal":                with(),
		"internal/operation":           with("internal/store", "internal/auth"),
		"internal/provider":            {"internal/fault", "internal/provider", "internal/guest"},
		"internal/guest":               {"internal/fault"},
		"internal/hub":                 with(),
		"internal/syslog":              with("internal/hub"),
		"internal/transport":           with("internal/transport"),
		"internal/worker":              with("internal/operation", "internal/syslog", "internal/hub", "internal/guest", "internal/provider"),
		"internal/devstack":            {"internal/devstack", "internal/store", "migrations"},
		"graph":                        with(append([]string{"graph", "internal/operation", "internal/auth", "internal/hub", "internal/syslog", "internal/session", "internal/transport/graphqlws", "internal/transport/wire", "schema"}, domains...)...),
		"server":                       {"internal/app"},
		"internal/catalog/manifest":    {"internal/catalog"},
		"internal/catalog/composition": {"internal/catalog"},
		"internal/catalog/builtin":     {"internal/catalog"},
	}
	for i, d := range domains {
		r[d] = with(append(slices.Clone(base), domains[:i+1]...)...)
	}
	r["internal/team"] = append(r["internal/team"], "internal/seal", "internal/provider")
	r["internal/vm"] = append(r["internal/vm"], "internal/provider", "internal/guest")
	r["internal/workload"] = append(r["internal/workload"], "internal/provider", "internal/guest")
	return r
}

// libraries says which rooms may import a library; a library stands for all
// below it.
var libraries = map[string][]string{
	"github.com/gorilla/websocket": {"internal/transport"},
	"github.com/hibiken/asynq":     {"internal/worker", "internal/app"},
	"gorm.io":                      {"internal/store", "internal/operation", "internal/auth", "internal/session", "internal/team", "internal/project", "internal/catalog", "internal/vm", "internal/workload", "internal/marketplace"},
	"github.com/redis/go-redis":    {"internal/hub", "internal/worker", "internal/devstack", "internal/app"},
	"github.com/99designs/gqlgen":  {"graph", "internal/transport", "internal/app"},
	"github.com/alicebob":          {"internal/devstack"},
	"github.com/stretchr/testify":  {"internal/provider/providertest", "internal/provider/simulator/simulatortest", "internal/devstack", "internal/transport/internal/edgetest"},
}

// rootsOnly may be imported as they are, not what is below them: domains know
// the interfaces of drivers and guests, never a certain one.
var rootsOnly = []string{"internal/provider", "internal/guest"}

func TestRoomsImportWhatTheyMay(t *testing.T) {
	allowed := rooms()
	for _, p := range packages(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		room := roomOf(path, keys(allowed))
		for _, imp := range p.Imports {
			to, ours := strings.CutPrefix(imp, module)
			if !ours {
				continue
			}
			if within(to, "internal/app") || within(to, "server") || (within(to, "graph") && !within(path, "graph")) {
				require.True(t, path == "server" || within(path, "internal/app") || within(path, "bench"),
					"%s imports %s, which only the command and the wiring may", path, to)
				continue
			}
			if room == "" {
				continue
			}
			require.True(t, slices.ContainsFunc(allowed[room], func(a string) bool {
				if slices.Contains(rootsOnly, a) && !within(path, a) && room != "internal/worker" {
					return to == a
				}
				return within(to, a)
			}), "%s (room %s) imports %s, which its room may not", path, room, to)
		}
	}
}

func TestLibrariesStayInTheirRooms(t *testing.T) {
	for _, p := range packages(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		for _, imp := range p.Imports {
			for lib, homes := range libraries {
				if imp == lib || strings.HasPrefix(imp, lib+"/") {
					require.True(t, slices.ContainsFunc(homes, func(h string) bool { return within(path, h) }),
						"%s imports %s, which belongs to %v", path, imp, homes)
				}
			}
		}
	}
}

// TestLeavesStandAlone keeps the leaves free of libraries.
func TestLeavesStandAlone(t *testing.T) {
	for _, p := range packages(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		if !slices.Contains(leaves, path) {
			continue
		}
		for _, imp := range p.Imports {
			std := !strings.Contains(strings.SplitN(imp, "/", 2)[0], ".")
			require.True(t, std || slices.Contains(leaves, strings.TrimPrefix(imp, module)), "the leaf %s imports %s", path, imp)
		}
	}
}

// roomOf is the deepest listed room that holds the path; empty for none.
func roomOf(path string, rooms []string) string {
	best := ""
	for _, r := range rooms {
		if within(path, r) && len(r) > len(best) {
			best = r
		}
	}
	return best
}

func within(path, room string) bool { return path == room || strings.HasPrefix(path, room+"/") }

func keys(m map[string][]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	return out
}
