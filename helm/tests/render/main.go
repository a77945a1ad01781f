// render CHART renders a chart as Helm does, from what stands as JSON on standard input, and writes the manifests as JSON.
//
// Helm's own engine is a page around text/template, Sprig and sigs.k8s.io/yaml; this is that page, over Debian's packages of
// the three, so that the chart can be tested where Helm cannot be had. Values are not checked against the schema here.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
)

// Values of one file, or of all.
type Values = map[string]interface{}

// Asked is what is rendered: texts of YAML, of which the later go before the earlier.
type Asked struct {
	Values      []string
	Release     string
	Namespace   string
	Upgrade     bool
	KubeVersion string
	APIVersions []string
}

// Versions that a cluster serves.
type Versions []string

// Has says whether the cluster serves a version, or a kind as `group/version/Kind`.
func (served Versions) Has(version string) bool {
	for _, each := range served {
		if each == version {
			return true
		}
	}
	return false
}

// KubeVersion of a cluster.
type KubeVersion struct{ Version, Major, Minor string }

func (version KubeVersion) String() string { return version.Version }

// GitVersion is the version's older name.
func (version KubeVersion) GitVersion() string { return version.Version }

// Files of the chart that are no templates.
type Files map[string][]byte

// Get returns a file's text, and "" where there is none.
func (files Files) Get(name string) string { return string(files[name]) }

// GetBytes returns what a file holds.
func (files Files) GetBytes(name string) []byte { return files[name] }

// Glob returns the files whose names match.
func (files Files) Glob(pattern string) Files {
	found := Files{}
	for name, data := range files {
		if matched, err := path.Match(pattern, name); err == nil && matched {
			found[name] = data
		}
	}
	return found
}

// Lines returns a file's lines.
func (files Files) Lines(name string) []string {
	return strings.Split(strings.TrimSuffix(files.Get(name), "\n"), "\n")
}

// AsConfig returns the files as a ConfigMap's data.
func (files Files) AsConfig() string {
	data := map[string]string{}
	for name, text := range files {
		data[path.Base(name)] = string(text)
	}
	return toYAML(data)
}

// AsSecrets returns the files as a Secret's data.
func (files Files) AsSecrets() string {
	data := map[string]string{}
	for name, text := range files {
		data[path.Base(name)] = base64.StdEncoding.EncodeToString(text)
	}
	return toYAML(data)
}

func main() {
	if len(os.Args) != 2 {
		die(errors.New("usage: render CHART < asked.json"))
	}
	var asked Asked
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		die(err)
	}
	rendered, err := render(os.Args[1], asked)
	if err != nil {
		die(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(rendered); err != nil {
		die(err)
	}
}

func die(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func render(folder string, asked Asked) (map[string]string, error) {
	files, err := read(folder)
	if err != nil {
		return nil, err
	}
	chart, values := Values{}, Values{}
	for name, into := range map[string]*Values{"Chart.yaml": &chart, "values.yaml": &values} {
		if err := yaml.Unmarshal(files[name], into); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	given := Values{}
	for _, text := range asked.Values {
		read := Values{}
		if err := yaml.Unmarshal([]byte(text), &read); err != nil {
			return nil, err
		}
		given = overlaid(given, read)
	}
	named := Values{}
	for key, value := range chart {
		// A template says .Chart.AppVersion for appVersion: Helm's is a struct.
		named[strings.ToUpper(key[:1])+key[1:]] = value
	}
	version := strings.SplitN(strings.TrimPrefix(asked.KubeVersion, "v"), ".", 3)
	others, texts := Files{}, map[string]string{}
	for name, data := range files {
		switch {
		case strings.HasPrefix(name, "templates/"):
			texts[name] = string(data)
		case name != "Chart.yaml" && name != "values.yaml" && name != "values.schema.json":
			others[name] = data
		}
	}
	top := Values{
		"Chart":  named,
		"Values": defaulted(given, values),
		"Files":  others,
		"Release": Values{
			"Name": asked.Release, "Namespace": asked.Namespace, "Service": "Helm", "Revision": 1,
			"IsInstall": !asked.Upgrade, "IsUpgrade": asked.Upgrade,
		},
		"Capabilities": Values{
			"KubeVersion": KubeVersion{"v" + strings.Join(version, "."), version[0], version[1]},
			"APIVersions": Versions(asked.APIVersions),
			"HelmVersion": Values{"Version": "v3.0.0"},
		},
	}
	return executed(chart["name"].(string), texts, top)
}

func read(folder string) (Files, error) {
	files := Files{}
	err := filepath.WalkDir(folder, func(where string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, where)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(name)], err = os.ReadFile(where)
		return err
	})
	return files, err
}

// overlaid merges two files of values: maps key by key, everything else replaced.
func overlaid(below, above Values) Values {
	merged := Values{}
	for key, value := range below {
		merged[key] = value
	}
	for key, value := range above {
		upper, isMap := value.(Values)
		lower, wasMap := merged[key].(Values)
		if isMap && wasMap {
			merged[key] = overlaid(lower, upper)
		} else {
			merged[key] = value
		}
	}
	return merged
}

// defaulted adds the chart's values to those that were given. A null takes away what the chart has.
func defaulted(given, chart Values) Values {
	for key, value := range chart {
		said, there := given[key]
		inner, isMap := said.(Values)
		below, wasMap := value.(Values)
		switch {
		case !there:
			given[key] = value
		case said == nil:
			delete(given, key)
		case isMap && wasMap:
			given[key] = defaulted(inner, below)
		}
	}
	return given
}

func executed(chart string, texts map[string]string, top Values) (map[string]string, error) {
	all := template.New("chart").Option("missingkey=zero")
	all.Funcs(functions(all))
	names := make([]string, 0, len(texts))
	for name := range texts {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if _, err := all.New(chart + "/" + name).Parse(texts[name]); err != nil {
			return nil, err
		}
	}
	rendered := map[string]string{}
	for _, name := range names {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		own := Values{"Template": Values{"Name": chart + "/" + name, "BasePath": chart + "/templates"}}
		for key, value := range top {
			own[key] = value
		}
		var out bytes.Buffer
		if err := all.ExecuteTemplate(&out, chart+"/"+name, own); err != nil {
			return nil, err
		}
		rendered[name] = strings.ReplaceAll(out.String(), "<no value>", "")
	}
	return rendered, nil
}

func functions(all *template.Template) template.FuncMap {
	known := sprig.TxtFuncMap()
	delete(known, "env")
	delete(known, "expandenv")
	include := func(name string, data interface{}) (string, error) {
		var out strings.Builder
		err := all.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	own := template.FuncMap{
		"include": include,
		"tpl": func(text string, data interface{}) (string, error) {
			clone, err := all.Clone()
			if err != nil {
				return "", err
			}
			parsed, err := clone.New("tpl").Parse(text)
			if err != nil {
				return "", err
			}
			var out strings.Builder
			err = parsed.Execute(&out, data)
			return strings.ReplaceAll(out.String(), "<no value>", ""), err
		},
		"required": func(message string, value interface{}) (interface{}, error) {
			if text, isText := value.(string); value == nil || isText && text == "" {
				return nil, errors.New(message)
			}
			return value, nil
		},
		"fail": func(message string) (string, error) { return "", errors.New(message) },
		"lookup": func(version, kind, namespace, name string) (Values, error) {
			return Values{}, nil
		},
		"toYaml": toYAML,
		"fromYaml": func(text string) Values {
			read := Values{}
			if err := yaml.Unmarshal([]byte(text), &read); err != nil {
				read["Error"] = err.Error()
			}
			return read
		},
		"fromYamlArray": func(text string) []interface{} {
			read := []interface{}{}
			if err := yaml.Unmarshal([]byte(text), &read); err != nil {
				return []interface{}{err.Error()}
			}
			return read
		},
		"toJson": func(value interface{}) string {
			data, err := json.Marshal(value)
			if err != nil {
				return ""
			}
			return string(data)
		},
		"fromJson": func(text string) Values {
			read := Values{}
			if err := json.Unmarshal([]byte(text), &read); err != nil {
				read["Error"] = err.Error()
			}
			return read
		},
	}
	for name, function := range own {
		known[name] = function
	}
	return known
}

func toYAML(value interface{}) string {
	data, err := yaml.Marshal(value)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(data), "\n")
}
