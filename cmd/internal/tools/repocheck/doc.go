// Package repocheck holds the checks of the project as a whole: that imports go
// only along the layers, that what the README shows works, and that the tree
// is as its contributors promised. Its tests are its content.
package repocheck
