// Package builtin holds the store items that come with the product, a manifest
// file each: the VM templates and the add-on packs.
//
// It owns the files and nothing else: how they are read is the business of
// package manifest, and when they enter the catalog that of package catalog. A
// file that is changed needs a new version, because a published version never
// changes.
package builtin

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"slices"

	"biztraak.dev/vm/internal/catalog/manifest"
)

//go:embed templates/*.yaml addons/*.yaml
var files embed.FS

// Load reads all built-in items, templates first, each kind by slug. It fails
// if a file is not a manifest that could be published, which names the file.
func Load() ([]manifest.Manifest, error) {
	names, err := fs.Glob(files, "*/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list built-in manifests: %w", err)
	}
	items := make([]manifest.Manifest, 0, len(names))
	for _, name := range names {
		item, err := load(name)
		if err != nil {
			return nil, fmt.Errorf("built-in manifest %s: %w", name, err)
		}
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b manifest.Manifest) int {
		return cmp.Or(-cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Metadata.Slug, b.Metadata.Slug))
	})
	return items, nil
}

func load(name string) (manifest.Manifest, error) {
	text, err := files.ReadFile(name)
	if err != nil {
		return manifest.Manifest{}, err
	}
	item, err := manifest.Parse(text)
	if err != nil {
		return manifest.Manifest{}, err
	}
	if problems := manifest.Check(item); len(problems) > 0 {
		return manifest.Manifest{}, &manifest.Error{Problems: problems}
	}
	return item, nil
}
