"""What builds report: the pages, one a module. The findings are made where builds are read."""
