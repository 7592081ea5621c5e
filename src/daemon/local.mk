# programs of this folder
