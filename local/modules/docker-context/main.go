// Docker-context prints the files that Docker would send to a build, by the two packages with which BuildKit reads .dockerignore
// and walks the folder.
//
// Usage: docker-context <folder with a .dockerignore>
package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/moby/patternmatcher/ignorefile"
	"github.com/tonistiigi/fsutil"
)

const version = "0.6.1"

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: docker-context <folder>"))
	}
	if os.Args[1] == "--version" {
		fmt.Println("docker-context, of patternmatcher v" + version)
		return
	}
	if err := list(os.Args[1]); err != nil {
		fail(err)
	}
}

func list(folder string) error {
	file, err := os.Open(filepath.Join(folder, ".dockerignore"))
	if err != nil {
		return err
	}
	defer file.Close()
	patterns, err := ignorefile.ReadAll(file)
	if err != nil {
		return err
	}
	all, err := fsutil.NewFS(folder)
	if err != nil {
		return err
	}
	sent, err := fsutil.NewFilterFS(all, &fsutil.FilterOpt{ExcludePatterns: patterns})
	if err != nil {
		return err
	}
	return sent.Walk(context.Background(), "", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			fmt.Println(filepath.ToSlash(path))
		}
		return err
	})
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
