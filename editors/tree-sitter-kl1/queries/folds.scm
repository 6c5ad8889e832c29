[(rule) (fact)] @fold
