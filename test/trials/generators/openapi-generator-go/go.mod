module example.com/journey

go 1.26.0
