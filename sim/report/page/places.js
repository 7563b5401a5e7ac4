// places
