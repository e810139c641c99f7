// Package trust keeps the parameter rules that trusted hosts declare of themselves, by
// No-Vary-Search and Clean-param, as entries of a rule file.
//
// A No-Vary-Search field holds for the path of its response only. A Clean-param line holds for
// the paths that it names. The latest declaration of a path, or of a robots.txt, replaces the
// ones before. A response that declares nothing changes nothing.
package trust
